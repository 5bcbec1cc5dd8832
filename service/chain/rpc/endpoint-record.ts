// Keeps records of endpoints: health, newest block, penalty points, and refused requests. Only this
// module changes a record. Other modules read records, and call this module to report events.
// pace.ts contains the rate limits.
//
// Each network, relay group, and `ChainRpc` opens its own records. So a process can have several
// records of the same endpoint.
//
// follow/context.ts stores the last block whose logs an endpoint returned (`FollowMemory.shown`).
// The endpoint's record omits this block, because a reorganization can remove the block.

import type { Endpoint } from "./endpoint.ts";
import type { Answer, Block, Call } from "./json-rpc.ts";

export type NetworkEvent =
  | { kind: "rpc_failed"; rpc: string; message: string }
  | { kind: "rpc_wrong_chain"; rpc: string; found: number }
  | { kind: "rpc_out"; rpc: string }
  | { kind: "rpc_differs"; rpc: string; method: string }
  | { kind: "rpc_disagreement"; about: "head" | "receipt" | "state"; detail: string };

/**
 * A poll requests the newest block from the endpoints. A failed endpoint is called again after at
 * most this number of polls. After the first failure, the endpoint is called again in the next
 * poll. Each further failure doubles the number of polls until the next call.
 */
const penaltyMax = 16;
/** An endpoint that has not answered for this time no longer counts for the quorum. */
const outMs = 300_000;
/** The half-life of penalty points. */
const scoreHalfMs = 600_000;
const points = { failed: 0.5, differs: 1 };
/**
 * The maximum number of penalty points. This limit allows a repaired endpoint to recover within an
 * hour.
 */
const scoreMax = 20;
/** The number of views (view.ts) after which an endpoint's chain ID is read again. */
const viewsPerChainCheck = 300;
/** A fast response can lower `answerMs` only to this fraction of its previous value. */
const answerMsDecay = 0.8;

type Mutable = {
  endpoint: Endpoint;
  penalty: { polls: number; last: number };
  /** The number of views (view.ts) to create before the endpoint's chain ID is read again. */
  chainCheckIn: number;
  /**
   * The endpoint's newest block, and when the endpoint first returned it. `below` is an earlier
   * block that was also read.
   */
  head: { block: Block; below?: Block; sinceMs: number } | undefined;
  /** The longest recent response time of newest-block requests, in milliseconds. */
  answerMs: number;
  /**
   * The time of the first failure since the endpoint's last answer. Undefined if it has not failed
   * since then.
   */
  failingSinceMs: number | undefined;
  /**
   * The time of the last failure. Undefined if the endpoint has answered since then. Used only by
   * chain-rpc.ts.
   */
  failedAtMs: number | undefined;
  isOut: boolean;
  /**
   * The number of penalty points at the time `sinceMs`. From then on, the number is halved every
   * ten minutes.
   */
  score: { points: number; sinceMs: number };
  logs: LogLimits;
  estimates: Estimates;
};

/**
 * The log queries that the endpoint accepts. A sweep reads the logs of new blocks
 * (follow/sweep.ts). Sweeps are numbered.
 */
type LogLimits = {
  /** The maximum number of blocks in the next query. */
  rangeBlocks: number;
  /**
   * The longest range, in blocks, for which the endpoint returned logs. If the endpoint later
   * refuses a range of this length or shorter, the value is reset to 0.
   */
  shownBlocks: number;
  /**
   * The number of queries that must still succeed before a longer range is requested. If a refusal
   * reveals the endpoint's limit, this count is set to `growInNext`.
   */
  growIn: number;
  growInNext: number;
  /**
   * Set to the number of a later sweep if the endpoint did not answer a log query in time. Before
   * that sweep, logs are requested from the endpoint only if no other endpoint is left.
   */
  slowUntilSweep: number;
  /**
   * Set while the endpoint refuses all log queries. Until sweep `untilSweep`, logs are requested
   * from the endpoint only if no other endpoint is left. `sweeps` is the length of this pause.
   * `message` is the endpoint's error message.
   */
  refusing: { untilSweep: number; sweeps: number; message: string } | undefined;
  /** Whether the endpoint refuses log queries that filter by recipient. */
  isByTokens: boolean;
  /**
   * Before the sweep with this number, the logs of look-alikes are not requested from the endpoint.
   * Initially 0.
   */
  lookalikesFromSweep: number;
};

/**
 * - `variant`: the index of the first variant of a gas estimate that the endpoint accepts
 * - `accountMs`: the average duration of recent simulations, by account
 * - `withoutGasUseUntilMs`: the time until which eth_simulateV1 is not used, after a refusal
 */
type Estimates = {
  variant: number;
  accountMs: Map<string, number>;
  withoutGasUseUntilMs: number;
};

type DeepReadonly<Value> =
  Value extends Map<infer Key, infer Each>
    ? ReadonlyMap<Key, Each>
    : Value extends (...args: never[]) => unknown
      ? Value
      : Value extends object
        ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
        : Value;

export type EndpointRecord = DeepReadonly<Mutable>;

/**
 * `clock` returns milliseconds of a monotonic clock. `sleep` resolves after `ms` milliseconds of
 * this clock.
 */
export type NetworkState = {
  chainId: number;
  all: EndpointRecord[];
  report(event: NetworkEvent): void;
  clock(): number;
  sleep(ms: number): Promise<void>;
};

const firstRangeBlocks = 2000;

export function openRecord(endpoint: Endpoint): EndpointRecord {
  const record: Mutable = {
    endpoint,
    penalty: { polls: 0, last: 0 },
    chainCheckIn: 0,
    head: undefined,
    answerMs: 0,
    failingSinceMs: undefined,
    failedAtMs: undefined,
    isOut: false,
    score: { points: 0, sinceMs: 0 },
    logs: {
      rangeBlocks: firstRangeBlocks,
      shownBlocks: 0,
      growIn: 0,
      growInNext: growInFirst,
      slowUntilSweep: 0,
      refusing: undefined,
      isByTokens: false,
      lookalikesFromSweep: 0,
    },
    estimates: { variant: 0, accountMs: new Map(), withoutGasUseUntilMs: 0 },
  };
  return record as EndpointRecord;
}

const write = (record: EndpointRecord): Mutable => record as Mutable;

/**
 * A call that is part of a round. In a round, round.ts sends the same request to several endpoints
 * in parallel. The round can end before all endpoints have answered.
 */
export type Inquiry = {
  /** Returns whether the round has ended. This endpoint's answer is then no longer needed. */
  isOver(): boolean;
  /**
   * Marks the endpoint as rate-limited.
   * @returns false if the answer is no longer needed
   */
  mayWait?(): boolean;
};

/**
 * Calls the endpoint. If the call fails, records the failure and returns undefined. If the round of
 * `inquiry` has already ended, the failure is not recorded.
 */
export async function ask(
  state: NetworkState,
  record: EndpointRecord,
  calls: Call[],
  inquiry?: Inquiry,
): Promise<Answer[] | undefined> {
  try {
    return await record.endpoint.ask(calls, undefined, inquiry?.mayWait);
  } catch (error) {
    if (inquiry?.isOver()) return undefined;
    recordFailure(state, record, error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

export function recordFailure(state: NetworkState, record: EndpointRecord, message: string): void {
  const own = write(record);
  const last = Math.min(own.penalty.last * 2 || 1, penaltyMax);
  own.penalty = { polls: last, last };
  own.chainCheckIn = 0;
  own.failingSinceMs ??= state.clock();
  addPoints(state, own, points.failed);
  state.report({ kind: "rpc_failed", rpc: own.endpoint.name, message });
}

/** Records that the endpoint's answer for `method` differs from the answer of a quorum. */
export function contradict(state: NetworkState, record: EndpointRecord, method: string): void {
  addPoints(state, write(record), points.differs);
  state.report({ kind: "rpc_differs", rpc: record.endpoint.name, method });
}

function addPoints({ clock }: NetworkState, record: Mutable, more: number): void {
  const nowMs = clock();
  record.score = { points: Math.min(scoreMax, scoreOf(record, nowMs) + more), sinceMs: nowMs };
}

/** Returns the current number of penalty points; 0 is the best score. */
export const scoreOf = ({ score }: Pick<EndpointRecord, "score">, nowMs: number): number =>
  score.points * 2 ** (-(nowMs - score.sinceMs) / scoreHalfMs);

/**
 * Returns whether to read the endpoint's chain ID in this view. Must be called exactly once per
 * view, because each call counts as one view.
 */
export function takeChainCheck(record: EndpointRecord): boolean {
  return write(record).chainCheckIn-- <= 0;
}

export function recordChain(state: NetworkState, record: EndpointRecord, found: number): boolean {
  const own = write(record);
  const isRight = found === state.chainId;
  own.chainCheckIn = isRight ? viewsPerChainCheck : 0;
  if (isRight) return true;
  own.failingSinceMs ??= state.clock();
  state.report({ kind: "rpc_wrong_chain", rpc: own.endpoint.name, found });
  return false;
}

/**
 * Records the endpoint's newest block. Returns the time at which the endpoint first returned this
 * block.
 */
export function recordHead({ clock }: NetworkState, record: EndpointRecord, block: Block): number {
  const own = write(record);
  if (own.head?.block.hash !== block.hash) own.head = { block, sinceMs: clock() };
  return own.head.sinceMs;
}

export function recordBlockBelow(record: EndpointRecord, block: Block): void {
  const { head } = write(record);
  if (head) head.below = block;
}

export function recordAnswerMs(record: EndpointRecord, tookMs: number): void {
  write(record).answerMs = Math.max(tookMs, record.answerMs * answerMsDecay);
}

export function recordHealthy(record: EndpointRecord): void {
  Object.assign(write(record), { failingSinceMs: undefined, failedAtMs: undefined, isOut: false });
}

/** Only chain-rpc.ts uses this time. */
export function recordFailedAt(record: EndpointRecord, nowMs: number): void {
  write(record).failedAtMs = nowMs;
}

/**
 * Returns the endpoints to call in the next poll. Omits endpoints that failed recently, because
 * waiting for their timeout would delay the poll. If all endpoints failed recently, returns all
 * endpoints. Penalties last for a number of polls. Each call of this function counts as one poll.
 */
export function takeWilling({ all }: NetworkState): EndpointRecord[] {
  for (const { penalty } of all.map(write)) {
    if (penalty.polls > 0) penalty.polls--;
    else penalty.last = Math.floor(penalty.last / 2);
  }
  const found = all.filter(({ penalty }) => penalty.polls === 0);
  return found.length > 0 ? found : all;
}

/**
 * Marks and reports, once, each endpoint that has not answered for {@link outMs}.
 *
 * @returns the number of these endpoints
 */
export function markOut({ all, clock, report }: NetworkState): number {
  for (const record of all.map(write)) {
    const { failingSinceMs, isOut } = record;
    if (isOut || failingSinceMs === undefined || clock() - failingSinceMs < outMs) continue;
    record.isOut = true;
    report({ kind: "rpc_out", rpc: record.endpoint.name });
  }
  return all.filter(({ isOut }) => isOut).length;
}

/**
 * After a timeout of a log query, the endpoint is skipped for this number of sweeps, including the
 * current one. The endpoint is asked anyway if no other endpoint is left.
 */
const slowSweeps = 16;
/** An endpoint that refused the logs of look-alikes is asked again after this number of sweeps. */
const lookalikesRestSweeps = 16;
/**
 * After an endpoint refuses all logs, no more logs are requested from it in this sweep. Each
 * further refusal doubles the number of sweeps without requests, up to this maximum.
 */
const refusingSweepsMax = 64;
/** The factor by which a range of blocks grows. */
const rangeGrowth = 1.1;
/**
 * Limits can change. So a longer range is tried after `growInFirst` successful queries at the known
 * limit. With each refusal, this number doubles, up to `growInMax`. If the limit stays the same,
 * soon only about one query in 256 is refused.
 */
const [growInFirst, growInMax] = [16, 256];

/**
 * Records that the endpoint returned the logs of a range. If the range had the maximum length
 * (`rangeBlocks`), the next range can be longer.
 */
export function recordLogsShown(record: EndpointRecord, blocks: number, blocksMax: number): void {
  const { logs } = write(record);
  logs.refusing = undefined;
  if (blocks < logs.rangeBlocks) return;
  if (blocks > logs.shownBlocks && logs.growIn === 0) logs.growInNext = growInFirst;
  logs.shownBlocks = Math.max(logs.shownBlocks, blocks);
  if (logs.growIn > 0) logs.growIn--;
  else logs.rangeBlocks = Math.min(blocksMax, Math.ceil(logs.rangeBlocks * rangeGrowth));
}

/**
 * Shortens the next range, because the endpoint did not return the logs of `blocks` blocks. The
 * next range has at most `statedBlocks` blocks. If the endpoint stated no number, the maximum is
 * half of `blocks`, or `shownBlocks` if that is higher.
 *
 * @param statedBlocks the number of blocks that the endpoint says it allows, less than `blocks`
 */
export function shrinkLogRange(
  record: EndpointRecord,
  blocks: number,
  statedBlocks?: number,
): void {
  const { logs } = write(record);
  const half = Math.floor(blocks / 2);
  if (logs.shownBlocks >= blocks) logs.shownBlocks = 0;
  const isLimitKnown = statedBlocks !== undefined || logs.shownBlocks > half;
  const next = statedBlocks ?? Math.max(half, logs.shownBlocks);
  logs.rangeBlocks = Math.max(1, Math.min(logs.rangeBlocks, next));
  logs.growIn = isLimitKnown ? logs.growInNext : 0;
  if (isLimitKnown) logs.growInNext = Math.min(logs.growInNext * 2, growInMax);
}

export function recordLogsSlow(record: EndpointRecord, sweep: number): void {
  write(record).logs.slowUntilSweep = sweep + slowSweeps;
}

/** Marks the endpoint as refusing all log queries. */
export function recordAllLogsRefused(record: EndpointRecord, sweep: number, message: string): void {
  const { logs } = write(record);
  const sweeps = Math.min((logs.refusing?.sweeps ?? 0) * 2 || 1, refusingSweepsMax);
  logs.refusing = { sweeps, untilSweep: sweep + sweeps, message };
}

/**
 * Records that the endpoint returned the logs of listed tokens, but refused the logs of
 * look-alikes.
 */
export function recordLookalikesRefused(record: EndpointRecord, sweep: number): void {
  write(record).logs.lookalikesFromSweep = sweep + lookalikesRestSweeps;
}

export function recordLogsByTokens(record: EndpointRecord): void {
  write(record).logs.isByTokens = true;
}

/**
 * Records that the endpoint refused this variant of a gas estimate. From then on, only later
 * variants are sent to the endpoint. They are less precise.
 */
export function recordVariantRefused(record: EndpointRecord, variant: number): void {
  write(record).estimates.variant = variant + 1;
}

export function recordWithoutGasUse(record: EndpointRecord, untilMs: number): void {
  write(record).estimates.withoutGasUseUntilMs = untilMs;
}

/** The maximum number of accounts per endpoint. The oldest entry is removed first. */
const accountsMax = 1000;

/**
 * Records the duration of a simulation for the account. If `tookMs` is undefined, removes the
 * account's entry.
 */
export function recordAccountMs(
  record: EndpointRecord,
  accountId: string,
  tookMs: number | undefined,
): void {
  const { accountMs } = write(record).estimates;
  if (tookMs === undefined) {
    accountMs.delete(accountId);
    return;
  }
  accountMs.set(accountId, ((accountMs.get(accountId) ?? tookMs) + tookMs) / 2);
  const [oldest] = accountMs.keys();
  if (accountMs.size > accountsMax) accountMs.delete(oldest!);
}
