export { formatAddress, isAddress, parseAddress } from "./abi/checksum.ts";
export { type Bytes, fromHex, isHash, toHex } from "./abi/hex.ts";
export { encodeBalanceOf, encodeTransfer, zeroAddress } from "./abi/token.ts";
export { termsBytesMax } from "./abi/type.ts";
export { type Approval, approvalOf, unlimitedFrom } from "./calldata/approval.ts";
export {
  batchCalldata,
  batchSelector,
  executeCalldata,
  executeSelector,
  recoverCalldata,
  recoverSelector,
  rescueSelector,
} from "./calldata/calldata.ts";
export {
  type DecodedCall,
  decodeExecutions,
  encodeCall,
  encodeExecution,
} from "./calldata/execution.ts";
export { gasMargin } from "./calldata/gas.ts";
export {
  type Collection,
  collectionOf,
  payWithTolerance,
  type Requirement,
  requestedAmount,
  requireBalance,
  requireClosed,
  requireExecuted,
  requireGas,
  requirementOf,
  type Tip,
  tipOf,
} from "./calldata/periphery.ts";
export {
  collectorAddress,
  conditionsAddress,
  factoryAddress,
  guardsAddress,
  initCodePrefix,
  tipAddress,
  vaultCodeBytes,
} from "./deployment.ts";
export { deriveAddress } from "./derive.ts";
export { InvalidError, type Issue, type Path } from "./errors.ts";
export type { AddressRecord, Call, Hex, Intent } from "./intent/intent.ts";
export { parseJson } from "./intent/json.ts";
export {
  drawSalt,
  encodeNewIntent,
  findCautions,
  type NewIntentOptions,
} from "./intent/new-intent.ts";
export { parseIntent, type TermsOptions } from "./intent/parse.ts";
export { decodeTerms, encodeTerms } from "./intent/terms.ts";
export { type Keccak, keccak256 } from "./keccak/keccak.ts";
export { makeRecord, verifyRecord } from "./record.ts";
