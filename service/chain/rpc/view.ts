// A view reads a chain's state at one block, which is the newest block. `read` returns answers on
// which a quorum of endpoints agrees. `readSeveral` returns the answers of several endpoints,
// because some endpoints may not have the newest data yet. `agreed` finds the answer that most
// endpoints gave.

import type { Hex } from "executable-address";
import {
  ask,
  contradict,
  type EndpointRecord,
  type Inquiry,
  type NetworkState,
  recordFailure,
  scoreOf,
} from "./endpoint-record.ts";
import { type Answer, type Block, blockOf, type Call, ChainUnavailable } from "./json-rpc.ts";
import { openRound } from "./round.ts";

/**
 * Returns whether answer number `index` is usable. After an unusable answer, another endpoint is
 * called.
 */
export type Usable = (answer: Answer, index: number) => boolean;

export type View = {
  head: Block;
  /**
   * The block parameter of calls that read the state at the end of block `head`. The parameter
   * contains the block's hash, so that an endpoint cannot answer for another block.
   */
  at: { blockHash: Hex };
  /**
   * Returns answers on which `quorum` endpoints agree. An endpoint counts toward the quorum only if
   * all its answers are usable. By default, an error is not a usable answer. If two endpoints
   * disagree, a third endpoint is called. If only one endpoint answers, or no answer has a quorum,
   * returns the first endpoint's answer.
   */
  read(calls: Call[], usable?: Usable): Promise<Answer[]>;
  /**
   * Like {@link View.read}, but `turn` selects the endpoint that is called first. If no answer has
   * a quorum, `turn` also selects the endpoint whose answer is returned. If you repeat a read, pass
   * a different `turn` each time. If one of two endpoints is wrong, its answer is then returned in
   * at most half of the reads.
   */
  readInTurn(calls: Call[], turn: number, usable?: Usable): Promise<Answer[]>;
  /**
   * Returns the usable answers of up to `quorum` endpoints. The answers may differ.
   *
   * @throws {ChainUnavailable} if no endpoint has usable answers
   */
  readSeveral(calls: Call[], turn: number, usable: Usable): Promise<Answer[][]>;
  /**
   * Returns the endpoints in the order in which to call them. `turn` selects the first endpoint. If
   * some endpoints may not have the requested data yet, pass a different `turn` for each attempt.
   */
  clients(turn: number): EndpointClient[];
  /**
   * Calls every endpoint of this chain. The result is undefined for an endpoint that failed. After
   * a quorum has given usable answers, late and rate-limited endpoints also count as failed.
   */
  readEach(calls: Call[], usable?: Usable): Promise<(Answer[] | undefined)[]>;
  /**
   * Gives an endpoint penalty points because its answer differs from a quorum's answer. `place` is
   * the endpoint's index in the result of {@link readEach}.
   */
  accuse(place: number, method: string): void;
  /** Returns the name of an endpoint, for logs. `place` is its index in {@link readEach}. */
  nameOf(place: number): string;
  /** The number of endpoints that must agree. */
  quorum: number;
  /**
   * Whether every endpoint has answered in this view, except endpoints that have been silent for
   * minutes.
   */
  isWhole: boolean;
  /** One entry per endpoint of the chain. */
  records: readonly EndpointRecord[];
  /** The penalty points of each endpoint; 0 is the best score. */
  scores: readonly { rpc: string; points: number }[];
};

export type EndpointClient = {
  /** For logs and metrics. */
  name: string;
  record: EndpointRecord;
  /** Whether the endpoint has returned the view's newest block or a later one. */
  hasHead: boolean;
  /**
   * Calls this endpoint. If the endpoint does not answer, a second, cheap call shows whether the
   * endpoint is alive.
   * @param isReplaceable whether another endpoint can answer instead. If so, the result is "gone"
   *   as soon as this endpoint is rate-limited
   * @returns "slow" if the endpoint is alive but did not answer within `timeoutMs`
   */
  ask(
    calls: Call[],
    timeoutMs?: number,
    isReplaceable?: boolean,
  ): Promise<Answer[] | "slow" | "gone">;
  /** Gives this endpoint penalty points because its answer differs from a quorum's answer. */
  accuse(method: string): void;
};

/** `order`: the endpoints in the order in which they are called. */
type Belief = Pick<View, "head" | "quorum" | "isWhole"> & { order: EndpointRecord[] };

export function viewOf(state: NetworkState, belief: Belief): View {
  const { head, order, quorum, isWhole } = belief;
  const nowMs = state.clock();
  const turned = (turn: number) => inTurn(order, turn, nowMs);
  const readAlike = async (
    endpoints: EndpointRecord[],
    calls: Call[],
    usable: Usable = isResult,
    turn?: number,
  ) =>
    calls.length === 0
      ? []
      : alike(state, await several(state, endpoints, calls, usable, belief), turn);
  return {
    head,
    at: { blockHash: head.hash },
    quorum,
    isWhole,
    records: state.all,
    scores: state.all.map((record) => ({
      rpc: record.endpoint.name,
      points: scoreOf(record, nowMs),
    })),
    read: (calls, usable) => readAlike(order, calls, usable),
    readInTurn: (calls, turn, usable) => readAlike(turned(turn), calls, usable, turn),
    async readSeveral(calls, turn, usable) {
      const { found } = await several(state, turned(turn), calls, usable, {
        quorum,
        mayDiffer: true,
      });
      return found.map(({ answers }) => answers);
    },
    clients: (turn) => turned(turn).map((record) => clientOf(state, record, head)),
    readEach(calls, usable = isResult) {
      const inquire = (record: EndpointRecord, inquiry: Inquiry) =>
        ask(state, record, calls, inquiry);
      const round = openRound(state, quorum, inquire, (answers) => answers.every(usable));
      for (const record of order) round.ask(record);
      return round.all();
    },
    accuse: (place, method) => contradict(state, order[place]!, method),
    nameOf: (place) => order[place]!.endpoint.name,
  };
}

const clientOf = (state: NetworkState, record: EndpointRecord, head: Block): EndpointClient => ({
  name: record.endpoint.name,
  record,
  hasHead: record.head !== undefined && record.head.block.number >= head.number,
  async ask(calls, timeoutMs, isReplaceable = false) {
    let isThrottled = false;
    const mayWait = () => {
      isThrottled = isReplaceable;
      return !isReplaceable;
    };
    const asked = record.endpoint.ask(calls, timeoutMs, mayWait);
    const answers = await asked.catch(() => undefined);
    if (answers || isThrottled) return answers ?? "gone";
    // Either the calls were too expensive, or the endpoint is down. A cheap call shows whether the
    // endpoint is down.
    const isAlive = await ask(state, record, [{ method: "eth_chainId", params: [] }]);
    return isAlive ? "slow" : "gone";
  },
  accuse: (method) => contradict(state, record, method),
});

const isResult: Usable = (answer) => "result" in answer;

/**
 * Sorts the endpoints for a read. Endpoints with less than one penalty point come before all
 * others. `turn` selects which of these endpoints comes first.
 */
function inTurn(order: readonly EndpointRecord[], turn: number, nowMs: number): EndpointRecord[] {
  const isGood = (record: EndpointRecord) => scoreOf(record, nowMs) < 1;
  const good = order.filter(isGood);
  const start = good.length === 0 ? 0 : turn % good.length;
  const others = order.filter((record) => !isGood(record));
  return [...good.slice(start), ...good.slice(0, start), ...others];
}

type Answering = { record: EndpointRecord; answers: Answer[] };
type Several = { calls: Call[]; found: Answering[]; quorum: number };

/**
 * Calls a quorum of endpoints in parallel. Calls another endpoint if answers differ, or if an
 * endpoint fails, is late, or is rate-limited. Waits for late and rate-limited endpoints only if no
 * other endpoint is left.
 * @param mayDiffer if true, the answers do not have to agree
 * @throws {ChainUnavailable} if no endpoint has usable answers
 */
async function several(
  state: NetworkState,
  endpoints: readonly EndpointRecord[],
  calls: Call[],
  usable: Usable,
  { quorum, mayDiffer = false }: { quorum: number; mayDiffer?: boolean },
): Promise<Several> {
  const isBack = ({ penalty }: EndpointRecord) => Number(penalty.polls > 0);
  const left = endpoints.toSorted((a, b) => isBack(a) - isBack(b));
  const reasons: string[] = [];
  const round = openRound(state, 1, async (record, inquiry) => {
    const answers = await ask(state, record, calls, inquiry);
    const fault = answers?.find((answer, place) => !usable(answer, place));
    if (!fault || inquiry.isOver()) return answers;
    const reason = "error" in fault ? fault.error.message : "unusable answer";
    recordFailure(state, record, reason);
    reasons.push(`${record.endpoint.name}: ${reason}`);
    return undefined;
  });
  const findAnswering = () =>
    round.entries.flatMap(({ record, value }) => (value ? [{ record, answers: value }] : []));
  let found: Answering[] = [];
  const isEnough = () =>
    found.length >= quorum && (mayDiffer || agreements({ calls, found, quorum }).every(Boolean));
  const count = (...states: string[]) =>
    round.entries.filter((entry) => states.includes(entry.state)).length;
  for (; !isEnough(); found = findAnswering()) {
    const isMoreNeeded = count("open") === 0 || found.length + count("open") < quorum;
    if (isMoreNeeded && left.length > 0) round.ask(left.shift()!);
    else if (count("open", "late", "throttled") > 0) await round.next();
    else break;
  }
  round.end();
  if (found.length > 0) return { calls, found, quorum };
  throw new ChainUnavailable(
    `expected an answer to ${calls[0]?.method} from one of ${endpoints.length} endpoints, found ` +
      (reasons.toSorted().join(", ") || "none"),
  );
}

/** Returns the result of {@link agreed} for each call: the indices of the endpoints that agree. */
function agreements({ calls, found, quorum }: Several): (number[] | undefined)[] {
  return calls.map(({ method }, index) =>
    agreed(
      found.map(({ answers }) => comparableText(method, answers[index]!)),
      quorum,
    ),
  );
}

/**
 * Returns, for each call, the answer that a quorum gave. An endpoint that gave a different answer
 * gets a penalty point.
 * @param turn selects the answer to return if there is no quorum; by default, the first
 */
function alike(state: NetworkState, votes: Several, turn?: number): Answer[] {
  const { calls, found } = votes;
  const placeOf = ({ record }: Answering) => state.all.indexOf(record);
  const [first] = found;
  const fallback =
    turn === undefined
      ? first!
      : found.toSorted((a, b) => placeOf(a) - placeOf(b))[turn % found.length]!;
  return agreements(votes).map((places, index) => {
    const { method } = calls[index]!;
    const isSettled = places && places.length >= votes.quorum;
    found.forEach(({ record, answers }, place) => {
      const isOther =
        comparableText(method, answers[index]!) !== undefined && !places?.includes(place);
      if (isSettled && isOther) contradict(state, record, method);
    });
    return (places ? found[places[0]!]! : fallback).answers[index]!;
  });
}

/**
 * Returns equal texts for equal answers, and undefined for an error. Only the used fields of blocks
 * are compared, because nodes add other fields.
 */
export function comparableText(method: string, answer: Answer): string | undefined {
  if (!("result" in answer)) return undefined;
  const { result } = answer;
  try {
    if (method === "eth_getBlockByNumber") return comparableBlock(blockOf(result));
  } catch {
    // The answer is not a block, so the complete answer is compared.
  }
  return JSON.stringify(result).toLowerCase();
}

/** Returns equal texts for equal blocks. */
export const comparableBlock = (block: Block): string =>
  JSON.stringify(block, (_key, value) => (typeof value === "bigint" ? `${value}` : value));

/**
 * Finds the value with the most votes. If there are votes for different values, the most frequent
 * value needs at least `quorum` votes. Undefined is not a vote.
 *
 * @returns the indices of the votes for this value; undefined for too few votes or a tie
 */
export function agreed(votes: readonly (string | undefined)[], quorum: number) {
  const places = new Map<string, number[]>();
  votes.forEach((vote, place) => {
    if (vote !== undefined) places.set(vote, [...(places.get(vote) ?? []), place]);
  });
  const [most, next] = [...places.values()].sort((a, b) => b.length - a.length);
  if (!most || !next) return most;
  return most.length >= quorum && most.length > next.length ? most : undefined;
}

/**
 * Lists the endpoints' answers for an error message.
 * @param answers one answer per endpoint, in the order of {@link View.readEach}
 */
export const listAnswers = (
  { nameOf }: Pick<View, "nameOf">,
  answers: readonly (string | undefined)[],
): string =>
  answers.map((answer, place) => `${nameOf(place)}: ${answer ?? "no answer"}`).join(", ");

/** Parses the answer at index `place` of each endpoint. Skips answers that cannot be parsed. */
export function readAnswers<Value>(
  lists: readonly (readonly Answer[] | undefined)[],
  place: number,
  read: (result: unknown) => Value | undefined,
): Value[] {
  return lists.flatMap((list) => {
    const answer = list?.[place];
    try {
      const value = answer && "result" in answer ? read(answer.result) : undefined;
      return value === undefined ? [] : [value];
    } catch {
      return [];
    }
  });
}
