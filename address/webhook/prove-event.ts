// Proves what a receiver may act on: an event says where to look, and nodes of the receiver's say
// what is so. No fact is taken from the event.

import { isAddress, parseAddress } from "../abi/checksum.ts";
import { isSame } from "../abi/hex.ts";
import { UnprovenError, WebhookError } from "../client/errors.ts";
import { eventTypes, proveEventShape, type ServiceEvent } from "../client/lists.ts";
import { factoryAddress } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { agree, parseAgreement, refuseUnknownOptions } from "../proof/agree.ts";
import { askOutcome } from "../proof/build/ask.ts";
import { proveRecovery } from "../proof/execution.ts";
import {
  findEvents,
  findExecution,
  fromAny,
  type GatherOptions,
  readAgreed,
} from "../proof/gather.ts";
import { findPayment } from "../proof/payments.ts";
import { type AgreedBlock, blockHashOf, ProofError } from "../proof/proof.ts";
import { verifyRecord } from "../record.ts";
import type { AddressState, BlockReference, TokenAmount } from "../status/shape.ts";

/**
 * The facts of an address, `depth` blocks below the newest that the nodes agree on. `executed`,
 * `recovered`, `payment` and `expired` are proved by headers, accounts and receipts; what it holds
 * is what so many nodes read. Amounts are in base units.
 *
 * - `payment`: all that one transaction paid in `token`, as that contract's own log tells; look at
 *   `token`, since any contract may tell anything
 * - `held`: of a payment without a log (native coin) there is no proof but what is there now
 * - `notYet`: it is so, or may be, above the depth asked for: have it delivered again
 * - `outdated`: it may have been so and is no longer: there is nothing to do
 * - `unknown`: a later version of the service added the type: nothing is proved, there is nothing
 *   to do, and no reason to refuse the event
 * - `reverted`: the state of an address that is neither executed nor recovered; that it once was,
 *   only your own records show
 *
 * It has no reference: the chain knows none. Find the order by `address`.
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
  | { readonly fact: "held"; readonly token: Hex; readonly amount: string; readonly depth: number }
  | { readonly fact: "expired"; readonly depth: number }
  | { readonly fact: "reverted"; readonly state: AddressState; readonly depth: number }
  | { readonly fact: "notYet" }
  | { readonly fact: "outdated" }
  | { readonly fact: "unknown" }
);

/** `confirmations`: how many blocks must stand upon it before it is a fact. */
export type ProveEventOptions = GatherOptions & { readonly confirmations: number };

/** A client of the service, whose records are proved. */
type Lookup = { lookup(address: Hex): Promise<AddressRecord | undefined> };

/**
 * Proves what an event says by nodes of the receiver's, kept by operators apart.
 *
 * @param of the record of the event's address as the order keeps it, or a client to look it up
 * @throws {WebhookError} where the chain says otherwise: refuse it
 * @throws {ProofError} or {ClientError} where nothing can be known now: have it delivered again
 * @throws {TypeError} for unknown options, or without `confirmations`
 */
export async function proveEvent(
  event: ServiceEvent,
  of: AddressRecord | Lookup,
  options: ProveEventOptions,
): Promise<ProvedEvent> {
  refuseUnknownOptions(options);
  if (options.confirmations === undefined)
    throw new TypeError("confirmations: say how many blocks must stand upon a fact");
  if (isOfLaterType(event)) return { address: parseAddress(event.data.address), fact: "unknown" };
  const { type, data } = checked(event);
  const record = await findRecord(data.address, of, options);
  const { chainId } = record.intent;
  if (data.status.chainId !== chainId)
    throw new WebhookError(`the event is of chain ${data.status.chainId}, not ${chainId}`);
  const newestAt = (confirmations: number) =>
    blockHashOf(options.rpcs, { ...options, confirmations, chainId });
  const rule = rules[type];
  const asked = { record, options, claimed: data };
  const agreed = await newestAt(options.confirmations);
  const { address } = record;
  const fact = await rule({ ...asked, agreed });
  if (fact) return { address, ...fact };
  const newest = options.confirmations === 0 ? agreed : await newestAt(0);
  const claimed = data.status.block;
  if (newest !== agreed && (await rule({ ...asked, agreed: newest })))
    return { address, fact: "notYet" };
  if (claimed.number > newest.number) return { address, fact: "notYet" };
  if (isLasting(event) && (await isCanonical(claimed, options)))
    throw new WebhookError(`${address}: the chain does not have what the event says`);
  return { address, fact: "outdated" };
}

/** These facts stay true while their block stands; any other may have passed since. */
const isLasting = ({ type, data: { payment } }: ServiceEvent) =>
  type === "address.payment"
    ? payment?.transactionHash != null
    : type === "address.executed" || type === "address.recovered";

/** Whether the block that the event names is still of the chain. @throws {ProofError} */
async function isCanonical(
  { number, hash }: BlockReference,
  { rpcs, ...options }: ProveEventOptions,
) {
  const block = await agree(rpcs, number, parseAgreement(rpcs, options).quorum);
  if (block) return block.hash === hash.toLowerCase();
  throw new ProofError("no_quorum", `the endpoints agree on no block ${number}`);
}

/** Whether a later version of the service added the type; its data may have another form. */
function isOfLaterType(event: ServiceEvent): boolean {
  const { type, data } = (event ?? {}) as Partial<ServiceEvent>;
  return typeof type === "string" && !eventTypes.includes(type) && isAddress(data?.address);
}

function checked(event: ServiceEvent): ServiceEvent {
  try {
    return proveEventShape(event);
  } catch (error) {
    if (!(error instanceof UnprovenError)) throw error;
    throw new WebhookError(error.message, { cause: error });
  }
}

async function findRecord(address: Hex, of: AddressRecord | Lookup, options: ProveEventOptions) {
  const found = "lookup" in of ? await of.lookup(address) : of;
  if (!found) throw new WebhookError(`the service has no record of ${address}`);
  const record = verifyRecord(found, { ...options, factory: options.factory ?? factoryAddress });
  if (isSame(record.address, address)) return record;
  throw new WebhookError(`the record is of ${record.address}, the event of ${address}`);
}

/** A fact without its address. */
type Fact = ProvedEvent extends infer Each
  ? Each extends unknown
    ? Omit<Each, "address">
    : never
  : never;

type RuleInput = {
  readonly record: AddressRecord;
  readonly options: ProveEventOptions;
  readonly claimed: ServiceEvent["data"];
  readonly agreed: AgreedBlock;
};

/** For each type, the fact that is so at the agreed block; undefined where it is not so there. */
const rules: Record<ServiceEvent["type"], (asked: RuleInput) => Promise<Fact | undefined>> = {
  async "address.payment"(asked) {
    const { payment } = asked.claimed;
    if (!payment) return undefined;
    const { token, transactionHash, blockNumber } = payment;
    if (transactionHash === null) return readHolding(asked, token);
    const { record, agreed, options } = asked;
    if (blockNumber > agreed.number) return undefined;
    const found = await findPayment(record, { token, transactionHash, blockNumber }, options);
    if (!found) return undefined;
    const { payments, block } = found;
    const depth = agreed.head - block.number;
    return { fact: "payment", transactionHash: found.transactionHash, token, payments, depth };
  },
  async "address.executed"(asked) {
    if ((await proveOutcomeAt(asked)) !== "executed") return undefined;
    const { record, agreed, options } = asked;
    const { transactionHash, held, left, block } = await findExecution(record, agreed, options);
    return { fact: "executed", transactionHash, held, left, depth: agreed.head - block.number };
  },
  async "address.recovered"(asked) {
    const outcome = await proveOutcomeAt(asked);
    if (outcome !== "executed" && outcome !== "closed") return undefined;
    const { record, agreed, options, claimed } = asked;
    const last = claimed.status.recoveries.at(-1)?.transactionHash ?? claimed.transactionHash;
    if (last === null) return undefined;
    const wanted = { name: "Recovered", prove: proveRecovery, transactionHash: last } as const;
    const found = await findEvents(record, agreed, options, wanted);
    if (!found) return undefined;
    const { transactionHash, recoveries, block } = found;
    return { fact: "recovered", transactionHash, recoveries, depth: agreed.head - block.number };
  },
  async "address.expired"(asked) {
    if ((await proveOutcomeAt(asked)) !== "never") return undefined;
    return { fact: "expired", depth: depthOf(asked) };
  },
  async "address.funded"(asked) {
    const { state, balance } = await readStateAt(asked);
    return state === "funded" ? { fact: "funded", balance, depth: depthOf(asked) } : undefined;
  },
  async "address.surplus"(asked) {
    const { state, recoverable } = await readStateAt(asked);
    const isOver = state === "executed" || state === "recovered";
    if (!isOver || recoverable.length === 0) return undefined;
    return { fact: "surplus", recoverable, depth: depthOf(asked) };
  },
  async "address.reverted"(asked) {
    const { state } = await readStateAt(asked);
    // Only a chain that has taken back the execution or the recovery shows another state.
    if (state === "executed" || state === "recovered") return undefined;
    if (state !== asked.claimed.status.state) return undefined;
    return { fact: "reverted", state, depth: depthOf(asked) };
  },
};

async function readHolding(asked: RuleInput, token: Hex): Promise<Fact | undefined> {
  const status = await readStateAt(asked);
  const held = [...status.recoverable, { token: status.token, amount: status.balance }];
  const found = held.find((each) => isSame(each.token, token));
  if (!found || found.amount === "0") return undefined;
  return { fact: "held", token: found.token, amount: found.amount, depth: depthOf(asked) };
}

const depthOf = ({ agreed }: RuleInput) => agreed.head - agreed.number;

async function proveOutcomeAt({ record, agreed, options }: RuleInput) {
  const { found } = await fromAny(options.rpcs, (rpc) => askOutcome(rpc, record, agreed, options));
  return found.outcome;
}

const readStateAt = ({ record, agreed, options }: RuleInput) => readAgreed(record, agreed, options);
