// The exports of `executable-address/status`: the status of an address, and what its readers share.

export { fromQuantity, isSame, lowerHex, toQuantity } from "../abi/hex.ts";
export { topicOf, transferOf, transferTopic } from "../abi/token.ts";
export {
  decodeFactoryEvent,
  executedTopic,
  type FactoryEvent,
  parseVaultEvents,
  recoveredTopic,
  type VaultEvent,
  type VaultEventSearch,
  vaultEventFilter,
} from "./factory-events.ts";
export { findFirstBlock } from "./first-block.ts";
export { isNativeToken, withoutCoinParams } from "./native-token.ts";
export { readStatus, type StatusOptions } from "./read.ts";
export {
  deriveReturns,
  type Mistake,
  type MoneyReturn,
  mistakes,
  type PaymentReturns,
  policyIn,
  type ReturnPolicy,
} from "./returns.ts";
export {
  executionReverted,
  findBlock,
  httpRpc,
  invalidParameters,
  type Rpc,
  RpcError,
  StatusError,
  type StatusErrorCode,
} from "./rpc.ts";
export {
  addEvents,
  type Holding,
  isOpenAt,
  isOpenState,
  noPast,
  type Past,
  type StatusSubject,
  stateOf,
  statusOf,
} from "./rule.ts";
export type * from "./shape.ts";
export { addressStates } from "./shape.ts";
