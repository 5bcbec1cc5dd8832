// A view is what one pass works with: the head it believes, reads that enough endpoints answer
// alike, and answers side by side where each may know something of its own. The functions that
// compare the endpoints' answers follow below it.

import type { Hex } from "executable-address";
import {
  ask,
  contradict,
  type EndpointRecord,
  type NetworkState,
  recordFailure,
  scoreOf,
} from "./endpoint-record.ts";
import { type Answer, type Block, blockOf, type Call, ChainUnavailable } from "./json-rpc.ts";

/** Whether the answer to call number `index` can be worked with; otherwise another is asked. */
export type Usable = (answer: Answer, index: number) => boolean;

export type View = {
  head: Block;
  /** The state after `head`, by its hash, so that another endpoint cannot mix in another block. */
  at: { blockHash: Hex };
  /**
   * Gives what `quorum` endpoints answer alike. An endpoint counts if all its answers are usable,
   * by default if they are results. If two differ, a third is asked. If only one answers, or no
   * answer has so many, it is the first.
   */
  read(calls: Call[], usable?: Usable): Promise<Answer[]>;
  /**
   * Does the same, beginning with another endpoint at each turn. If no answer has so many, it is
   * another endpoint's at each turn, so that one of two can hide nothing for long.
   */
  readInTurn(calls: Call[], turn: number, usable?: Usable): Promise<Answer[]>;
  /**
   * Gives the answers of `quorum` endpoints, or of as many as have usable ones, at least one. Each
   * may show what another does not have yet.
   */
  readSeveral(calls: Call[], turn: number, usable: Usable): Promise<Answer[][]>;
  /** The endpoints one by one, another first at each turn; each may see something else. */
  askers(turn: number): Asker[];
  /** The answers of every endpoint of this chain; undefined where one failed. */
  readEach(calls: Call[]): Promise<(Answer[] | undefined)[]>;
  /** The endpoint at that place of {@link readEach} says what enough others contradict. */
  accuse(place: number, method: string): void;
  /** How many endpoints must say the same before it is believed. */
  quorum: number;
  /** Every endpoint there is, but for those long silent, answered as one of this chain. */
  isWhole: boolean;
  /** One for each endpoint of the chain. */
  records: readonly EndpointRecord[];
  /** Points against each endpoint of the chain; 0 is the best. */
  scores: readonly { rpc: string; points: number }[];
};

export type Asker = {
  /** Logs and metrics use it. */
  name: string;
  /** What is known of it, such as how long any call takes at least. */
  record: EndpointRecord;
  /** It has shown the head, or a later block. */
  hasHead: boolean;
  /**
   * Asks calls that may be too much for any endpoint.
   * @returns "slow" where it is alive and did not answer them within `timeoutMs`
   */
  ask(calls: Call[], timeoutMs?: number): Promise<Answer[] | "slow" | "gone">;
  /** It says of `method` what enough others contradict. */
  accuse(method: string): void;
};

/** `order`: whom to ask first about `head`. */
type Belief = Pick<View, "head" | "quorum" | "isWhole"> & { order: EndpointRecord[] };

export function viewOf(state: NetworkState, belief: Belief): View {
  const { head, order, quorum, isWhole } = belief;
  const nowMs = state.clock();
  const turned = (turn: number) => inTurn(order, turn, nowMs);
  const readAlike = async (
    asked: EndpointRecord[],
    calls: Call[],
    usable: Usable = isResult,
    turn?: number,
  ) =>
    calls.length === 0
      ? []
      : alike(state, await several(state, asked, calls, usable, belief), turn);
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
        isAlike: true,
      });
      return found.map(({ answers }) => answers);
    },
    askers: (turn) => turned(turn).map((record) => askerOf(state, record, head)),
    readEach: (calls) => Promise.all(order.map((record) => ask(state, record, calls))),
    accuse: (place, method) => contradict(state, order[place]!, method),
  };
}

const askerOf = (state: NetworkState, record: EndpointRecord, head: Block): Asker => ({
  name: record.endpoint.name,
  record,
  hasHead: record.head !== undefined && record.head.block.number >= head.number,
  async ask(calls, timeoutMs) {
    const answers = await record.endpoint.ask(calls, timeoutMs).catch(() => undefined);
    if (answers) return answers;
    // The question or the endpoint may be to blame: a question that costs nothing tells.
    const isAlive = await ask(state, record, [{ method: "eth_chainId", params: [] }]);
    return isAlive ? "slow" : "gone";
  },
  accuse: (method) => contradict(state, record, method),
});

const isResult: Usable = (answer) => "result" in answer;

/** The endpoints with less than a point, another of them first at each turn; then the rest. */
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
 * Asks as many as have to agree, side by side, and further ones while they do not.
 * @param isAlike one need not say what another does
 * @throws {ChainUnavailable} where none has usable answers
 */
async function several(
  state: NetworkState,
  asked: readonly EndpointRecord[],
  calls: Call[],
  usable: Usable,
  { quorum, isAlike = false }: { quorum: number; isAlike?: boolean },
): Promise<Several> {
  const isBack = ({ penalty }: EndpointRecord) => Number(penalty.passes > 0);
  const left = asked.toSorted((a, b) => isBack(a) - isBack(b));
  const found: Answering[] = [];
  let reason = "";
  const isEnough = () =>
    found.length >= quorum && (isAlike || agreements({ calls, found, quorum }).every(Boolean));
  while (left.length > 0 && !isEnough()) {
    const some = left.splice(0, Math.max(1, quorum - found.length));
    const lists = await Promise.all(some.map((record) => ask(state, record, calls)));
    lists.forEach((answers, index) => {
      const record = some[index]!;
      const fault = answers?.find((answer, place) => !usable(answer, place));
      if (fault) {
        reason = "error" in fault ? fault.error.message : "unusable answer";
        recordFailure(state, record, reason);
      } else if (answers) found.push({ record, answers });
    });
  }
  if (found.length > 0) return { calls, found, quorum };
  throw new ChainUnavailable(`no endpoint answers ${calls[0]?.method}: ${reason}`);
}

/** The places of the endpoints that agree, for each call. */
function agreements({ calls, found, quorum }: Several): (number[] | undefined)[] {
  return calls.map(({ method }, index) =>
    agreed(
      found.map(({ answers }) => comparableText(method, answers[index]!)),
      quorum,
    ),
  );
}

/**
 * To each call what enough say. Who says otherwise gets a point.
 * @param turn where no answer has enough, whose it is; the first one's without a turn
 */
function alike(state: NetworkState, told: Several, turn?: number): Answer[] {
  const { calls, found } = told;
  const placeOf = ({ record }: Answering) => state.all.indexOf(record);
  const [first] = found;
  const fallback =
    turn === undefined
      ? first!
      : found.toSorted((a, b) => placeOf(a) - placeOf(b))[turn % found.length]!;
  return agreements(told).map((places, index) => {
    const { method } = calls[index]!;
    const isSettled = places && places.length >= told.quorum;
    found.forEach(({ record, answers }, place) => {
      const isOther =
        comparableText(method, answers[index]!) !== undefined && !places?.includes(place);
      if (isSettled && isOther) contradict(state, record, method);
    });
    return (places ? found[places[0]!]! : fallback).answers[index]!;
  });
}

/**
 * Returns the same text for answers that say the same, or undefined if there is nothing to compare.
 * Of a block, only the fields that are used count, since nodes differ in the fields that they add.
 */
export function comparableText(method: string, answer: Answer): string | undefined {
  if (!("result" in answer)) return undefined;
  const { result } = answer;
  try {
    if (method === "eth_getBlockByNumber") return JSON.stringify(blockOf(result), plain);
  } catch {
    // An answer that is no block is compared as it is.
  }
  return JSON.stringify(result).toLowerCase();
}

const plain = (_key: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);

/**
 * Finds the value that `quorum` of `votes` have, or all of them where there are fewer; votes
 * without a value are not counted. @returns its places; undefined where no value has so many
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

/** The middle of several, or the lower of two in the middle: no single one decides. */
export const middle = (values: readonly bigint[]): bigint | undefined =>
  ascending(values)[Math.floor((values.length - 1) / 2)];

/** The middle of several, or the higher of two in the middle. */
export const upperMiddle = (values: readonly bigint[]): bigint | undefined =>
  ascending(values)[Math.floor(values.length / 2)];

const ascending = (values: readonly bigint[]) => values.toSorted((a, b) => (a < b ? -1 : 1));

/**
 * Reads each endpoint's answer number `place`; those that cannot be read are left out.
 */
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
