// Keeps one record per endpoint, with the endpoint's health, head, score, and refused requests.
// Only this module writes to a record. The networks, the chain loop, and the executor's jobs read
// records, and report results to this module. pace.ts contains the rate that the provider allows.
//
// `FollowMemory.shown` (follow/parts.ts) also has an entry per endpoint, but is not part of its
// record. It is about the cursor of one chain's loop, and a reorganization resets it with the
// cursor.

import type { Endpoint } from "./endpoint.ts";
import type { Answer, Block, Call } from "./json-rpc.ts";

export type NetworkEvent =
  | { kind: "rpc_failed"; rpc: string; message: string }
  | { kind: "rpc_wrong_chain"; rpc: string; found: number }
  | { kind: "rpc_out"; rpc: string }
  | { kind: "rpc_differs"; rpc: string; method: string }
  | { kind: "rpc_disagreement"; about: "head" | "receipt" | "state"; detail: string };

/**
 * The maximum number of passes that skip an endpoint after a failure. The number starts at 1 and
 * doubles with each failure.
 */
const penaltyMax = 16;
/** An endpoint that does not answer for this time no longer counts for the quorum. */
const outMs = 300_000;
/** The half-life of a score. */
const scoreHalfMs = 600_000;
const points = { failed: 0.5, differs: 1 };
/**
 * The maximum score. It is low enough that an endpoint is used normally again within an hour after
 * its repair.
 */
const scoreMax = 20;
/** An endpoint must report its chain ID again after this number of views (view.ts). */
const viewsPerChainCheck = 300;
/** At each response, `answerMs` falls at most to this share of its value. */
const answerMsDecay = 0.8;

type Mutable = {
  endpoint: Endpoint;
  penalty: { passes: number; last: number };
  /** The number of views until the endpoint must report its chain ID again. */
  chainCheckIn: number;
  /**
   * The endpoint's newest block, which it has shown since `sinceMs`. `below` is an earlier block
   * that the endpoint returned.
   */
  head: { block: Block; below?: Block; sinceMs: number } | undefined;
  /** The longest recent response time of a request for the newest block, in milliseconds. */
  answerMs: number;
  /** The time of the first failure since the endpoint's last answer. */
  failingSinceMs: number | undefined;
  /** The time of the last failure; undefined if the endpoint has answered since then. */
  failedAtMs: number | undefined;
  isOut: boolean;
  /** The endpoint's penalty points at the time `sinceMs`. */
  score: { points: number; sinceMs: number };
  logs: LogLimits;
  estimates: Estimates;
};

/** The log queries that an endpoint accepts. The turns are numbered by follow/sweep.ts. */
type LogLimits = {
  /** Blocks per query. */
  rangeBlocks: number;
  /**
   * The number of blocks in the longest range that the endpoint has returned. Becomes 0 if the
   * endpoint refuses a range that is not longer.
   */
  shownBlocks: number;
  /**
   * `growIn` is the number of ranges that must still succeed before a longer range is requested.
   * The next refusal that shows a limit sets it to `growInNext`.
   */
  growIn: number;
  growInNext: number;
  /** The endpoint was slow and is skipped until this turn. */
  slowUntilTurn: number;
  /**
   * Defined if the endpoint refuses all logs. The endpoint is skipped for `turns` turns, until
   * `untilTurn`. `message` is the endpoint's error message.
   */
  refusing: { untilTurn: number; turns: number; message: string } | undefined;
  /**
   * Whether the endpoint refuses log queries that name recipients, but accepts queries that name
   * only tokens.
   */
  isByTokens: boolean;
  /**
   * The endpoint refused the logs of look-alikes, and is asked for them again from this turn on.
   * Otherwise 0.
   */
  lookalikesFromTurn: number;
};

/**
 * `form`: the most precise form of estimates that the endpoint accepts. `accountMs`: the average
 * duration of recent simulations for each account. `withoutGasUseUntilMs`: the endpoint does not
 * support eth_simulateV1 and is not asked for it until this time.
 */
type Estimates = {
  form: number;
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
 * `clock`: milliseconds of a monotonic clock. `sleep`: resolves after `ms` milliseconds of the same
 * clock.
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
    penalty: { passes: 0, last: 0 },
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
      slowUntilTurn: 0,
      refusing: undefined,
      isByTokens: false,
      lookalikesFromTurn: 0,
    },
    estimates: { form: 0, accountMs: new Map(), withoutGasUseUntilMs: 0 },
  };
  return record as EndpointRecord;
}

const write = (record: EndpointRecord): Mutable => record as Mutable;

/** One endpoint's part of a round (round.ts). */
export type Inquiry = {
  /** Returns whether the round has ended, so that the result is not used. */
  isOver(): boolean;
  /**
   * Records that the provider throttles the endpoint.
   * @throws {ChainUnavailable} if the round has ended
   */
  onThrottled?(): void;
};

/**
 * Calls the endpoint, and returns undefined if the endpoint fails. Records the failure, unless the
 * round to which `inquiry` belongs has ended.
 */
export async function ask(
  state: NetworkState,
  record: EndpointRecord,
  calls: Call[],
  inquiry?: Inquiry,
): Promise<Answer[] | undefined> {
  try {
    return await record.endpoint.ask(calls, undefined, inquiry?.onThrottled);
  } catch (error) {
    if (inquiry?.isOver()) return undefined;
    recordFailure(state, record, error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

export function recordFailure(state: NetworkState, record: EndpointRecord, message: string): void {
  const own = write(record);
  const last = Math.min(own.penalty.last * 2 || 1, penaltyMax);
  own.penalty = { passes: last, last };
  own.chainCheckIn = 0;
  own.failingSinceMs ??= state.clock();
  addPoints(state, own, points.failed);
  state.report({ kind: "rpc_failed", rpc: own.endpoint.name, message });
}

/** Records that the endpoint's answer to `method` contradicts a quorum. */
export function contradict(state: NetworkState, record: EndpointRecord, method: string): void {
  addPoints(state, write(record), points.differs);
  state.report({ kind: "rpc_differs", rpc: record.endpoint.name, method });
}

function addPoints({ clock }: NetworkState, record: Mutable, more: number): void {
  const nowMs = clock();
  record.score = { points: Math.min(scoreMax, scoreOf(record, nowMs) + more), sinceMs: nowMs };
}

/** Returns the endpoint's penalty points now; 0 is the best score. */
export const scoreOf = ({ score }: Pick<EndpointRecord, "score">, nowMs: number): number =>
  score.points * 2 ** (-(nowMs - score.sinceMs) / scoreHalfMs);

/** Returns whether the endpoint must report its chain ID in the next view, and counts the view. */
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

/** Returns the time at which the endpoint began to show this head. */
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

/** Records that the endpoint answered in time. */
export function recordHealthy(record: EndpointRecord): void {
  Object.assign(write(record), { failingSinceMs: undefined, failedAtMs: undefined, isOut: false });
}

/** Records the time of a failure. Only chain-rpc.ts, which has no passes, uses this time. */
export function recordFailedAt(record: EndpointRecord, nowMs: number): void {
  write(record).failedAtMs = nowMs;
}

/**
 * Returns the endpoints to call in the next pass: endpoints without a current penalty, or all
 * endpoints if each has a penalty. Endpoints that do not respond are skipped, because each call
 * would last until the timeout.
 */
export function willing({ all }: NetworkState): EndpointRecord[] {
  for (const { penalty } of all.map(write)) {
    if (penalty.passes > 0) penalty.passes--;
    else penalty.last = Math.floor(penalty.last / 2);
  }
  const found = all.filter(({ penalty }) => penalty.passes === 0);
  return found.length > 0 ? found : all;
}

/**
 * Returns the number of endpoints that have been silent for {@link outMs}, and reports each once.
 */
export function countOut({ all, clock, report }: NetworkState): number {
  for (const record of all.map(write)) {
    const { failingSinceMs, isOut } = record;
    if (isOut || failingSinceMs === undefined || clock() - failingSinceMs < outMs) continue;
    record.isOut = true;
    report({ kind: "rpc_out", rpc: record.endpoint.name });
  }
  return all.filter(({ isOut }) => isOut).length;
}

/**
 * A slow endpoint is not asked for logs for this number of turns, unless no other endpoint is left.
 */
const slowTurns = 16;
/** An endpoint that refused look-alikes is not asked for them for this number of turns. */
const lookalikesRestTurns = 16;
/**
 * The maximum number of turns that skip an endpoint because it refuses all logs. The number starts
 * at 1 and doubles with each refusal.
 */
const refusingTurnsMax = 64;
/** The factor by which the range grows when a range above the known limit is requested. */
const rangeGrowth = 1.1;
/**
 * A longer range than the known limit is requested only after this number of ranges has succeeded.
 * The number starts at `growInFirst` and doubles with each refusal, up to `growInMax`. So if the
 * limit never changes, about one range in 256 is eventually refused.
 */
const [growInFirst, growInMax] = [16, 256];

/**
 * Records that the endpoint returned the logs of a range. If the range was as long as the known
 * limit, the limit can grow.
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
 * Records that the endpoint did not return the logs of a range of `blocks` blocks. The next range
 * has at most `statedBlocks` blocks. If the endpoint states no number, the next range is half as
 * long as the refused range, or as long as a longer range that the endpoint returned before.
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

export function recordLogsSlow(record: EndpointRecord, turn: number): void {
  write(record).logs.slowUntilTurn = turn + slowTurns;
}

/** Records that the endpoint refuses even the logs of a single block. */
export function recordAllLogsRefused(record: EndpointRecord, turn: number, message: string): void {
  const { logs } = write(record);
  const turns = Math.min((logs.refusing?.turns ?? 0) * 2 || 1, refusingTurnsMax);
  logs.refusing = { turns, untilTurn: turn + turns, message };
}

/** Records that the endpoint refuses the logs of look-alikes, but not the logs of listed tokens. */
export function recordLookalikesRefused(record: EndpointRecord, turn: number): void {
  write(record).logs.lookalikesFromTurn = turn + lookalikesRestTurns;
}

export function recordLogsByTokens(record: EndpointRecord): void {
  write(record).logs.isByTokens = true;
}

/**
 * Records that the endpoint does not accept a form of estimates, nor any of the earlier, more
 * precise forms.
 */
export function recordFormRefused(record: EndpointRecord, form: number): void {
  write(record).estimates.form = form + 1;
}

/** Records that the endpoint does not support eth_simulateV1. */
export function recordWithoutGasUse(record: EndpointRecord, untilMs: number): void {
  write(record).estimates.withoutGasUseUntilMs = untilMs;
}

/** The maximum number of accounts that are stored per endpoint. The oldest is removed first. */
const accountsMax = 1000;

/** Records the duration of a simulation; undefined removes the account's entry. */
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
