// `executable-address/shapes`: the schemas ("shapes") of all responses. The types, the client's
// checks, and the OpenAPI document are derived from the shapes. Also exports limits and functions
// that the service uses. Some functions describe values for error messages. The others scan JSON
// text.

import type { Hex } from "../abi/hex.ts";
import type { AddressProof } from "../proof/address-proof.ts";
import type { PaymentProof } from "../proof/payments.ts";
import {
  address,
  among,
  chainId,
  count,
  hash,
  immutable,
  list,
  matching,
  object,
  orNull,
  type Shape,
  uint256,
} from "../shape.ts";
import { blockReference } from "../status/shape.ts";

export { describeLength, quoted } from "../errors.ts";
export { addressRecord, call, intent } from "../intent/intent.ts";
export { scanJson } from "../intent/json.ts";
export { argsMax } from "../intent/parse.ts";
export { callsMax } from "../intent/write.ts";
export { provedPaymentsMax } from "../proof/payments.ts";
export * from "../shape.ts";
export {
  mistakes,
  moneyReturn,
  paymentReturns,
  returnedParts,
  returnPolicy,
  returnTimes,
  returnTriggers,
} from "../status/returns.ts";
export { sentMoney, sentToken } from "../status/sent.ts";
export {
  addressStatus,
  blockReference,
  execution,
  executorProgress,
  recovery,
  serviceStatus,
  state,
  tokenAmount,
} from "../status/shape.ts";
export { chain, chainList, token } from "./answers.ts";
export { check, finding, note } from "./check.ts";
export {
  attempt,
  delivery,
  deliveryPage,
  depth,
  endpoint,
  endpointPage,
  newEndpoint,
  newSecret,
  publicKey,
  removedEndpoint,
  replayed,
  sentTest,
} from "./endpoints.ts";
export {
  addressPage,
  createdBy,
  eventData,
  eventPage,
  eventType,
  listedAddress,
  payment,
  paymentKinds,
  paymentNews,
  serviceEvent,
  testEvent,
} from "./lists.ts";
export { balanceChange, simulation } from "./simulation.ts";

const bytes = matching<Hex>(/^0x([0-9a-f]{2})*$/);

/** Proves a transaction and its receipt with the trie nodes of its block. */
export const transactionProof = object({
  /** The RLP headers from the block of the transaction to the trusted block. */
  headers: list(bytes),
  transactionIndex: count,
  receipt: list(bytes),
  transaction: list(bytes),
});

/**
 * The RLP header of the block and an EIP-1186 account proof. They prove the code of the address.
 */
export const outcomeProof = object({
  header: bytes,
  account: list(bytes),
});

/** The execution, with its proof. */
export const provedExecution = object({
  transactionHash: hash,
  /** The address's balance of the intent's token before the calls. */
  held: uint256,
  /** The address's balance of the intent's token after the calls. */
  left: uint256,
  block: blockReference,
  proof: transactionProof,
});

/** A transaction that paid the address, with its proof. */
export const provedPayment = object({
  transactionHash: hash,
  payments: list(object({ from: address, amount: uint256 })),
  block: blockReference,
  proof: transactionProof,
});

/** A proof and its claimed result (spec/proof.md, section 2). */
export const addressProof: Shape<
  AddressProof & { readonly payments: readonly PaymentProof[]; readonly paymentsOmitted: number }
> = immutable(
  object({
    chainId,
    /**
     * - `executed`: the calls were executed.
     * - `closed`: a recovery closed the address, so the calls can never be executed.
     * - `open`: the calls can still be executed.
     * - `never`: the intent expired before its calls were executed, so they can never be executed.
     */
    outcome: among("executed", "closed", "open", "never"),
    block: blockReference,
    proof: outcomeProof,
    /** The execution if the outcome is `executed`, otherwise null. */
    execution: orNull(provedExecution),
    /**
     * The transactions with the largest payments, oldest first.
     *
     * @maxItems provedPaymentsMax
     */
    payments: list(provedPayment),
    /**
     * The number of transactions with payments that `payments` omits. A node reported this number
     * without a proof.
     */
    paymentsOmitted: count,
  }),
);
