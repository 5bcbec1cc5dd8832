// `executable-address/client/internal`: parts of the library that `executable-address-element`,
// `executable-address-shop`, and the service use. The names may change in any release. Each of
// these packages therefore requires one exact version of the library. Other programs should use
// `executable-address/client`.

export { describeValue, type NamesOf, refuseUnknown } from "../errors.ts";
export {
  apiKeyFormat,
  clientIdFormat,
  deliveryIdPattern,
  endpointIdPattern,
  eventIdPattern,
} from "../ids.ts";
export { termsOffsets } from "../intent/layout.ts";
export { parseAgreement, pickAgreed } from "../proof/agree.ts";
export { address, fits, integer } from "../shape.ts";
export { proveSimulation } from "./answers.ts";
export { ServiceError } from "./errors.ts";
export { type FoundRecord, findRecord } from "./mirrors.ts";
export { sleep, type Transport } from "./request.ts";
export { measuredBalancesMax } from "./simulation.ts";
export { pingMs, readMessages, type StreamMessage } from "./watch/watch.ts";
export { publicKeyPrefix, secretPrefix } from "./webhook-keys.ts";
export { within } from "./within.ts";
