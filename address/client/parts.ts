// `executable-address/client/parts`: parts of the client that `executable-address-element` and
// `executable-address-shop` are built from. These packages depend on exactly their own version of
// the library, because the names here may change in any release. Others use
// `executable-address/client`.

export { refuseUnknown } from "../errors.ts";
export { address, fits, integer } from "../shape.ts";
export { proveSimulation } from "./answers.ts";
export { ServiceError } from "./errors.ts";
export { type FoundRecord, findRecord } from "./mirrors.ts";
export { sleep, type Transport } from "./request.ts";
export { readMessages, type StreamMessage } from "./watch.ts";
export { within } from "./within.ts";
