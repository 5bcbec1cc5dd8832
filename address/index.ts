export { InvalidError, type Issue } from "./errors.ts";
export type { AddressRecord, Call, Hex, Intent } from "./intent.ts";
