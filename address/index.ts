export { termsBytesMax } from "./abi-type.ts";
export { formatAddress, parseAddress } from "./checksum.ts";
export { factoryAddress, initCodePrefix } from "./deployment.ts";
export { deriveAddress } from "./derive.ts";
export { InvalidError, type Issue, type Path } from "./errors.ts";
export {
  decodeExecutions,
  encodeCall,
  encodeExecution,
  executeBatchSelector,
  executeSelector,
} from "./execution.ts";
export { fromHex, toHex } from "./hex.ts";
export type { AddressRecord, Call, Hex, Intent } from "./intent.ts";
export { type Keccak, keccak256 } from "./keccak.ts";
export { type ParseOptions, parseIntent } from "./parse.ts";
export { makeRecord, verifyRecord } from "./record.ts";
export { decodeTerms, encodeTerms, type TermsOptions } from "./terms.ts";
