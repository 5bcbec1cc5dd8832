// Uses the receiver's own nodes to prove what an event reports. The event only shows where to look
// on the chain. The proof does not trust the event's values.

import { isAddress, parseAddress } from "../abi/checksum.ts";
import { isSame } from "../abi/hex.ts";
import { UnprovenError, WebhookError } from "../client/errors.ts";
import { eventTypes, proveEventShape, type ServiceEvent } from "../client/lists.ts";
import { factoryAddress } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import {
  agree,
  type GatherOptions,
  parseAgreement,
  type Rpcs,
  refuseUnknownOptions,
} from "../proof/agree.ts";
import { askOutcome } from "../proof/build/ask.ts";
import { proveRecovery } from "../proof/execution.ts";
import { findEvents, findExecution, fromAny, readAgreed } from "../proof/gather.ts";
import { findPayment } from "../proof/payments.ts";
import { type AgreedBlock, blockHashOf, ProofError } from "../proof/proof.ts";
import { verifyRecord } from "../record.ts";
import type { AddressState, BlockReference, TokenAmount } from "../status/shape.ts";

/**
 * A fact about an address. `depth` is the number of blocks after the block that proves the fact, up
 * to the newest block that a quorum of nodes has reached. `executed`, `recovered`, `expired`,
 * `payment`, `paidElsewhere`, and `returnedElsewhere` are proved with headers, accounts, and
 * receipts. Balances and `reverted` are the values that a quorum of nodes reports. Amounts are in
 * base units.
 *
 * - `payment`: the total that one transaction paid in `token` according to that token's logs. Check
 *   that `token` is the expected token, because any contract can log anything.
 * - `paidElsewhere`: the total that one transaction paid on the chain `chainId` instead of the
 *   intent's chain. This money does not pay the order.
 * - `returnedElsewhere`: the amounts that one transaction sent to `recovery` on another chain,
 *   `chainId`. The order is not affected.
 * - `held`: the balance of the payment's token at the agreed block. An event names no transaction
 *   for native coin and for payments from before the address was created, so these payments cannot
 *   be proved.
 * - `notYet`: the fact is not on the chain yet, or its block has too few confirmations. Ask for
 *   another delivery of the event.
 * - `outdated`: the chain does not confirm the event, for example because the balance has changed
 *   since. There is nothing to do.
 * - `unknown`: the library cannot check the event. For example, its type is newer than this
 *   library. On a chain other than the intent's, `address.reverted` can never be proved. Other
 *   events on that chain can be proved only with its nodes. Accept the event and do nothing.
 * - `reverted`: the address is neither executed nor recovered. Only your own records show whether
 *   the address was executed or recovered before.
 *
 * A fact does not contain the order's reference, because the reference is not on the chain. Find
 * the order by `address`.
 */
export type ProvedEvent = { readonly address: Hex } & (
  | {
      readonly fact: "executed";
      readonly transactionHash: Hex;
      readonly held: string;
      readonly left: string;
      readonly depth: number;
    }
  | {
      readonly fact: "recovered";
      readonly transactionHash: Hex;
      readonly recoveries: readonly TokenAmount[];
      readonly depth: number;
    }
  | { readonly fact: "funded"; readonly balance: string; readonly depth: number }
  | {
      readonly fact: "surplus";
      readonly recoverable: readonly TokenAmount[];
      readonly depth: number;
    }
  | {
      readonly fact: "payment";
      readonly transactionHash: Hex;
      readonly token: Hex;
      readonly payments: readonly { readonly from: Hex; readonly amount: string }[];
      readonly depth: number;
    }
  | {
      readonly fact: "paidElsewhere";
      readonly chainId: number;
      readonly transactionHash: Hex;
      readonly token: Hex;
      readonly payments: readonly { readonly from: Hex; readonly amount: string }[];
      readonly depth: number;
    }
  | {
      readonly fact: "returnedElsewhere";
      readonly chainId: number;
      readonly transactionHash: Hex;
      readonly recoveries: readonly TokenAmount[];
      readonly depth: number;
    }
  | { readonly fact: "held"; readonly token: Hex; readonly amount: string; readonly depth: number }
  | { readonly fact: "expired"; readonly depth: number }
  | { readonly fact: "reverted"; readonly state: AddressState; readonly depth: number }
  | { readonly fact: "notYet" }
  | { readonly fact: "outdated" }
  | { readonly fact: "unknown" }
);

/** Nodes of the intent's chain, or the nodes of each chain by chain ID. */
type RpcsByChain = Rpcs | Readonly<Record<number, Rpcs>>;

/**
 * `confirmations` is the number of blocks that must follow the block of a fact. `rpcs` is a list of
 * nodes of the intent's chain, or an object of such lists by chain ID. Pass an object to prove
 * payments and returns on chains other than the intent's chain.
 */
export type ProveEventOptions = Omit<GatherOptions, "rpcs"> & {
  readonly rpcs: RpcsByChain;
  readonly confirmations: number;
};

/** The options for one chain. */
type ChainOptions = GatherOptions & { readonly confirmations: number };

/** A client, which verifies the service's records. */
type Lookup = { lookup(address: Hex): Promise<AddressRecord | undefined> };

/**
 * Proves an event with the receiver's nodes, which should have independent operators.
 *
 * @param source the record that you stored with the order, or a client that looks up the record
 * @throws {WebhookError} if the chain contradicts the event: reject the event
 * @throws {ProofError} or {ClientError} if the event cannot be proved now: ask for another delivery
 *   of the event
 * @throws {TypeError} if an option is unknown, or if `confirmations` or the nodes of the intent's
 *   chain are missing
 */
export async function proveEvent(
  event: ServiceEvent,
  source: AddressRecord | Lookup,
  options: ProveEventOptions,
): Promise<ProvedEvent> {
  refuseUnknownOptions(options);
  if (options.confirmations === undefined)
    throw new TypeError("confirmations: expected a number of blocks, found none");
  if (isOfLaterType(event)) return { address: parseAddress(event.data.address), fact: "unknown" };
  const { type, data } = checkShape(event);
  const record = await findRecord(data.address, source, options);
  const { address, intent } = record;
  if (data.status.chainId !== intent.chainId)
    throw new WebhookError(
      `${address}: expected an event of chain ${intent.chainId}, found one of chain ` +
        data.status.chainId,
    );
  const { chainId = intent.chainId } = data;
  const isElsewhere = chainId !== intent.chainId;
  const rule = isElsewhere ? rulesElsewhere[type] : rules[type];
  const rpcs = chooseRpcs(options.rpcs, chainId, isElsewhere);
  if (!rule || !rpcs) return { address, fact: "unknown" };
  const chainOptions = { ...options, rpcs };
  const newestAt = (confirmations: number) =>
    blockHashOf(rpcs, { ...chainOptions, confirmations, chainId });
  const input = { record, options: chainOptions, claimed: data };
  const agreed = await newestAt(options.confirmations);
  const fact = await rule({ ...input, agreed });
  if (fact) return { address, ...fact };
  const newest = options.confirmations === 0 ? agreed : await newestAt(0);
  if (newest !== agreed && (await rule({ ...input, agreed: newest })))
    return { address, fact: "notYet" };
  const claimed = isElsewhere ? readPlace(data) : data.status.block;
  if (claimed && claimed.number > newest.number) return { address, fact: "notYet" };
  if (claimed && isLasting(event) && (await isCanonical(claimed, chainOptions))) {
    const reported = `${type} at block ${claimed.number}`;
    throw new WebhookError(
      `${address}: the event reports ${reported}, but the chain contradicts it`,
    );
  }
  return { address, fact: "outdated" };
}

/**
 * Returns the nodes of a chain. If the caller passed no nodes for the intent's chain, throws. For
 * any other chain without nodes, returns undefined.
 */
function chooseRpcs(rpcs: RpcsByChain, chainId: number, isElsewhere: boolean): Rpcs | undefined {
  const isOneList = typeof rpcs !== "object" || rpcs === null || Array.isArray(rpcs);
  if (isOneList) return isElsewhere ? undefined : (rpcs as Rpcs);
  const found = (rpcs as Readonly<Record<number, Rpcs>>)[chainId];
  if (found || isElsewhere) return found;
  throw new TypeError(`rpcs: expected nodes of chain ${chainId}, found none`);
}

/** Returns the block of an event's payment, or undefined if the event has no payment. */
const readPlace = ({ payment }: ServiceEvent["data"]) =>
  payment ? { number: payment.blockNumber, hash: payment.blockHash } : undefined;

/**
 * Returns whether only a reorganization can make the event false. A balance, for example, can
 * change without a reorganization.
 */
const isLasting = ({ type, data: { payment } }: ServiceEvent) =>
  type === "address.payment"
    ? payment?.transactionHash != null
    : type === "address.executed" || type === "address.recovered";

/**
 * Returns whether the event's block is still canonical.
 * @throws {ProofError}
 */
async function isCanonical(
  { number, hash }: Pick<BlockReference, "number" | "hash">,
  { rpcs, ...options }: ChainOptions,
) {
  const { quorum } = parseAgreement(rpcs, options);
  const { block, answers } = await agree(rpcs, number, quorum);
  if (block) return block.hash === hash.toLowerCase();
  throw new ProofError(
    "no_quorum",
    `expected ${quorum} of ${rpcs.length} endpoints to agree on block ${number}, found ${answers}`,
  );
}

/**
 * Returns whether the event's type is newer than this library. The data of such an event may have
 * different fields.
 */
function isOfLaterType(event: ServiceEvent): boolean {
  const { type, data } = (event ?? {}) as Partial<ServiceEvent>;
  return typeof type === "string" && !eventTypes.includes(type) && isAddress(data?.address);
}

function checkShape(event: ServiceEvent): ServiceEvent {
  try {
    return proveEventShape(event);
  } catch (error) {
    if (!(error instanceof UnprovenError)) throw error;
    throw new WebhookError(error.message, { cause: error });
  }
}

async function findRecord(
  address: Hex,
  source: AddressRecord | Lookup,
  options: ProveEventOptions,
) {
  const found = "lookup" in source ? await source.lookup(address) : source;
  if (!found) throw new WebhookError(`the service has no record of ${address}`);
  const record = verifyRecord(found, { ...options, factory: options.factory ?? factoryAddress });
  if (isSame(record.address, address)) return record;
  throw new WebhookError(`expected a record of ${address}, found one of ${record.address}`);
}

type Fact = ProvedEvent extends infer Each
  ? Each extends unknown
    ? Omit<Each, "address">
    : never
  : never;

type RuleInput = {
  readonly record: AddressRecord;
  readonly options: ChainOptions;
  readonly claimed: ServiceEvent["data"];
  readonly agreed: AgreedBlock;
};

/**
 * For each event type, a function that proves what the event reports. Each function returns the
 * fact at the agreed block, or undefined if the event is not true at that block.
 */
const rules: Record<ServiceEvent["type"], (input: RuleInput) => Promise<Fact | undefined>> = {
  async "address.payment"(input) {
    const { payment } = input.claimed;
    if (!payment) return undefined;
    const { token, transactionHash, blockNumber } = payment;
    if (transactionHash === null) return readHolding(input, token);
    const found = await findReported(input, { token, transactionHash, blockNumber });
    return found && { fact: "payment", ...found };
  },
  async "address.executed"(input) {
    if ((await proveOutcomeAt(input)) !== "executed") return undefined;
    const { record, agreed, options } = input;
    const { transactionHash, held, left, block } = await findExecution(record, agreed, options);
    return { fact: "executed", transactionHash, held, left, depth: agreed.head - block.number };
  },
  async "address.recovered"(input) {
    const outcome = await proveOutcomeAt(input);
    if (outcome !== "executed" && outcome !== "closed") return undefined;
    const { claimed } = input;
    const last = claimed.status.recoveries.at(-1)?.transactionHash ?? claimed.transactionHash;
    const found = await findReturned(input, last);
    return found && { fact: "recovered", ...found };
  },
  async "address.expired"(input) {
    if ((await proveOutcomeAt(input)) !== "never") return undefined;
    return { fact: "expired", depth: computeDepth(input) };
  },
  async "address.funded"(input) {
    const { state, balance } = await readStateAt(input);
    return state === "funded" ? { fact: "funded", balance, depth: computeDepth(input) } : undefined;
  },
  async "address.surplus"(input) {
    const { state, recoverable } = await readStateAt(input);
    const isOver = state === "executed" || state === "recovered";
    if (!isOver || recoverable.length === 0) return undefined;
    return { fact: "surplus", recoverable, depth: computeDepth(input) };
  },
  async "address.reverted"(input) {
    const { state } = await readStateAt(input);
    // The fact `reverted` means that the address is neither executed nor recovered.
    if (state === "executed" || state === "recovered") return undefined;
    if (state !== input.claimed.status.state) return undefined;
    return { fact: "reverted", state, depth: computeDepth(input) };
  },
};

/**
 * The functions for events about a chain other than the intent's. There is no function for
 * `address.reverted`. Such an event withdraws an earlier event. No chain can prove which events the
 * service sent.
 */
const rulesElsewhere: {
  readonly [Type in ServiceEvent["type"]]?: (typeof rules)[Type];
} = {
  async "address.payment"(input) {
    const { payment } = input.claimed;
    if (!payment?.transactionHash) return undefined;
    const { token, transactionHash, blockNumber } = payment;
    const found = await findReported(input, { token, transactionHash, blockNumber });
    return found && { fact: "paidElsewhere", chainId: input.agreed.chainId, ...found };
  },
  async "address.recovered"(input) {
    const found = await findReturned(input, input.claimed.transactionHash);
    return found && { fact: "returnedElsewhere", chainId: input.agreed.chainId, ...found };
  },
};

/** Proves the transfers of a reported payment. */
async function findReported(
  { record, agreed, options }: RuleInput,
  reported: Parameters<typeof findPayment>[1],
) {
  if (reported.blockNumber > agreed.number) return undefined;
  const found = await findPayment(record, reported, options);
  if (!found) return undefined;
  const { transactionHash, payments, block } = found;
  const depth = agreed.head - block.number;
  return { transactionHash, token: reported.token, payments, depth };
}

/** Proves the amounts that a transaction returned. */
async function findReturned({ record, agreed, options }: RuleInput, reported: Hex | null) {
  if (reported === null) return undefined;
  const query = { name: "Recovered", prove: proveRecovery, transactionHash: reported } as const;
  const found = await findEvents(record, agreed, options, query);
  if (!found) return undefined;
  const { transactionHash, recoveries, block } = found;
  return { transactionHash, recoveries, depth: agreed.head - block.number };
}

async function readHolding(input: RuleInput, token: Hex): Promise<Fact | undefined> {
  const status = await readStateAt(input);
  const held = [...status.recoverable, { token: status.token, amount: status.balance }];
  const found = held.find((each) => isSame(each.token, token));
  if (!found || found.amount === "0") return undefined;
  return { fact: "held", token: found.token, amount: found.amount, depth: computeDepth(input) };
}

const computeDepth = ({ agreed }: RuleInput) => agreed.head - agreed.number;

async function proveOutcomeAt({ record, agreed, options }: RuleInput) {
  const { found } = await fromAny(options.rpcs, (rpc) => askOutcome(rpc, record, agreed, options));
  return found.outcome;
}

const readStateAt = ({ record, agreed, options }: RuleInput) => readAgreed(record, agreed, options);
