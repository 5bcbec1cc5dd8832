// `executable-address/client/internal`: functions of the client that `executable-address-element`
// and `executable-address-shop` use. The names may change in any release. Each package therefore
// requires one exact version of the library. Other programs should use `executable-address/client`.

export { refuseUnknown } from "../errors.ts";
export { address, fits, integer } from "../shape.ts";
export { proveSimulation } from "./answers.ts";
export { ServiceError } from "./errors.ts";
export { type FoundRecord, findRecord } from "./mirrors.ts";
export { sleep, type Transport } from "./request.ts";
export { readMessages, type StreamMessage } from "./watch.ts";
export { within } from "./within.ts";
