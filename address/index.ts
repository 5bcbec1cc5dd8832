export { formatAddress, parseAddress } from "./abi/checksum.ts";
export { fromHex, toHex } from "./abi/hex.ts";
export { termsBytesMax } from "./abi/type.ts";
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
export type { AddressRecord, Call, Hex, Intent } from "./intent/intent.ts";
export { type ParseOptions, parseIntent } from "./intent/parse.ts";
export { decodeTerms, encodeTerms, type TermsOptions } from "./intent/terms.ts";
export { type Keccak, keccak256 } from "./keccak/keccak.ts";
export { makeRecord, verifyRecord } from "./record.ts";
