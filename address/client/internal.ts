// `executable-address/client/internal`: parts of the client that `executable-address-element`,
// `executable-address-shop`, and the service use. The names may change in any release. Each of
// these packages therefore requires one exact version of the library. Other programs should use
// `executable-address/client`.

export { refuseUnknown } from "../errors.ts";
export { address, fits, integer } from "../shape.ts";
export { proveSimulation } from "./answers.ts";
export { ServiceError } from "./errors.ts";
export { type FoundRecord, findRecord } from "./mirrors.ts";
export { apiKeyFormat, clientIdFormat } from "./options.ts";
export { sleep, type Transport } from "./request.ts";
export { measuredBalancesMax } from "./simulation.ts";
export { pingMs, readMessages, type StreamMessage } from "./watch/watch.ts";
export { within } from "./within.ts";
