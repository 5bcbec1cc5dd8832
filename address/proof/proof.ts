// `executable-address/proof`: proves the outcome of an address. The caller needs to trust only the
// source of the block's hash.

export { type AddressProof, type ProvedAddress, verifyAddressProof } from "./address-proof.ts";
export {
  type AgreedBlock,
  type AgreementOptions,
  blockHashOf,
  type GatherOptions,
  type Rpcs,
} from "./agree.ts";
export { askEvents, askOutcome } from "./build/ask.ts";
export { ProofError, type ProofErrorCode } from "./error.ts";
export {
  type ProvedExecution,
  type ProvedPayment,
  type ProvedRecovery,
  proveExecution,
  provePayment,
  proveRecovery,
  type TransactionProof,
} from "./execution.ts";
export { proveAddress, proveAt, readAgreed, rebuild } from "./gather.ts";
export {
  type Outcome,
  type OutcomeProof,
  type ProofOptions,
  proveOutcome,
  type TrustedBlock,
} from "./outcome.ts";
export { findPayments, type PaymentProof, type PaymentsUpTo } from "./payments.ts";
export {
  agreeOnReceipt,
  makeReceipt,
  type ProvedReceipt,
  receiptFormat,
  type SavedReceipt,
  verifyReceipt,
} from "./saved-receipt.ts";
