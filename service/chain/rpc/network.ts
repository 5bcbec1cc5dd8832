// Several endpoints of one chain, none of them trusted alone. A view is what one pass works with:
// the head that enough of them show, and reads that enough of them answer alike.
//
// Two endpoints are never worse than one. The head is the newest block that enough of them show
// alike, so an endpoint that claims later blocks changes nothing. One whose head does not move
// while another's does counts as silent, and so does one that answers long after enough others. One
// that was silent for minutes is left out of the count until it answers again.
//
// Relays, to which an operator may have transactions sent in place of endpoints, are at the end.

import type { Hex } from "executable-address";
import type { Endpoint } from "./endpoint.ts";
import {
  ask,
  contradict,
  countOut,
  type EndpointRecord,
  type NetworkEvent,
  type NetworkState,
  openRecord,
  recordAnswerMs,
  recordBlockBelow,
  recordChain,
  recordFailure,
  recordHead,
  recordHealthy,
  scoreOf,
  takeChainCheck,
  willing,
} from "./endpoint-record.ts";
import {
  type Answer,
  type Block,
  blockCall,
  blockOf,
  type Call,
  ChainUnavailable,
  quantity,
  resultOf,
} from "./json-rpc.ts";
import { agreed, type View, viewOf } from "./view.ts";

export type Network = {
  /** Asks every endpoint where it is. @throws {ChainUnavailable} when none is on this chain */
  openView(): Promise<View>;
  /**
   * Does the same where one endpoint, another at each turn, no longer shows `head` as its newest
   * block; undefined while it does.
   */
  openNewView(head: Hex): Promise<View | undefined>;
};

/** An endpoint whose head is lower than another's and did not move for so long is ignored. */
const frozenMs = 60_000;

/** An endpoint is late that takes so long, and so many times as long as enough others. */
const lateMsMin = 2000;
const lateFactor = 4;

/** @param clock milliseconds by a clock that does not go back */
export function openNetwork(
  chainId: number,
  endpoints: Endpoint[],
  report: (event: NetworkEvent) => void,
  clock: () => number,
): Network {
  const state = { chainId, all: endpoints.map(openRecord), report, clock };
  let turn = 0;
  return {
    openView: () => openView(state, willing(state), undefined),
    async openNewView(head) {
      const asked = [...willing(state)];
      const [first] = asked.splice(turn++ % asked.length, 1);
      const reached = await findWhere(state, first!);
      return reached?.head.hash === head ? undefined : openView(state, asked, reached);
    },
  };
}

/** @param reached the one that was asked already, if it answered */
async function openView(
  state: NetworkState,
  asked: EndpointRecord[],
  reached: Reached | undefined,
): Promise<View> {
  const others = await Promise.all(asked.map((record) => findWhere(state, record)));
  const all = [reached, ...others].filter((entry) => entry !== undefined);
  if (all.length === 0) {
    throw new ChainUnavailable(`no endpoint of chain ${state.chainId} answers as itself`);
  }
  const found = withoutLate(state, all);
  reportForks(found, state.report);
  const expected = state.all.length - countOut(state);
  const quorum = quorumOf(expected);
  const head = await believed(state, found, quorum);
  const order = orderFor(state, found, head);
  return viewOf(state, { head, order, quorum, isWhole: found.length >= expected });
}

/** How many of so many endpoints must say the same. */
const quorumOf = (count: number): number => Math.max(1, Math.min(2, count));

/**
 * Leaves out those that took longer than others do. A pass waits for each answer of its endpoints,
 * so one that is slow for all of them counts as silent while enough others are not.
 */
function withoutLate(state: NetworkState, all: readonly Reached[]): Reached[] {
  const times = all.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const enoughMs = times[quorumOf(state.all.length) - 1] ?? Number.POSITIVE_INFINITY;
  const lateMs = Math.max(lateMsMin, enoughMs * lateFactor);
  return all.filter(({ record, tookMs }) => {
    if (tookMs > lateMs) {
      const times = `its newest block after ${Math.round(tookMs)} ms`;
      recordFailure(state, record, `${times}, enough others after ${Math.round(enoughMs)}`);
      return false;
    }
    recordHealthy(record);
    return true;
  });
}

/** Finds an endpoint's head; undefined where it failed, or is of another chain. */
async function findWhere(
  state: NetworkState,
  record: EndpointRecord,
): Promise<Reached | undefined> {
  const { clock } = state;
  const isChainAsked = takeChainCheck(record);
  const calls = [blockCall("latest")];
  if (isChainAsked) calls.push({ method: "eth_chainId", params: [] });
  const beganMs = clock();
  const answers = await ask(state, record, calls);
  if (!answers) return undefined;
  const tookMs = clock() - beganMs;
  recordAnswerMs(record, tookMs);
  try {
    if (isChainAsked && !recordChain(state, record, Number(quantity(resultOf(answers[1]))))) {
      return undefined;
    }
    const head = blockOf(resultOf(answers[0]));
    return { record, head, sinceMs: recordHead(state, record, head), tookMs };
  } catch (error) {
    recordFailure(state, record, (error as Error).message);
    return undefined;
  }
}

type Reached = { record: EndpointRecord; head: Block; sinceMs: number; tookMs: number };

/**
 * The newest block that `quorum` of those that are alive show alike, each field of it: those beyond
 * it are asked for it by its number. Where no block has so many, the newest that so many have
 * reached.
 */
async function believed(state: NetworkState, found: Reached[], quorum: number): Promise<Block> {
  const byHeight = found.toSorted((a, b) => b.head.number - a.head.number);
  const highest = byHeight[0]!;
  const nowMs = state.clock();
  const isFrozen = ({ head, sinceMs }: Reached) =>
    head.number < highest.head.number && nowMs - sinceMs > frozenMs;
  const alive = byHeight.filter((each) => !isFrozen(each));
  const reached = alive[Math.min(quorum, alive.length) - 1]!.head;
  const heights = new Set(alive.map(({ head }) => head.number));
  for (const number of [...heights].filter((each) => each <= reached.number)) {
    const showing = alive.filter(({ head }) => head.number >= number);
    if (showing.length < quorum) continue;
    const blocks = await Promise.all(showing.map((each) => blockOfEach(state, each, number)));
    const texts = blocks.map((block) => block && JSON.stringify({ ...block, ...wei(block) }));
    const places = agreed(texts, quorum);
    if (!places || places.length < quorum) continue;
    showing.forEach(({ record }, place) => {
      const isOther = texts[place] !== undefined && !places.includes(place);
      if (isOther) contradict(state, record, "eth_getBlockByNumber");
    });
    return blocks[places[0]!]!;
  }
  return reached;
}

const wei = ({ baseFee, gasLimit }: Block) => ({
  baseFee: String(baseFee),
  gasLimit: String(gasLimit),
});

async function blockOfEach(
  state: NetworkState,
  { record, head }: Reached,
  number: number,
): Promise<Block | undefined> {
  if (head.number === number) return head;
  if (record.head?.below?.number === number) return record.head.below;
  const answers = await ask(state, record, [blockCall(number)]);
  try {
    const block = blockOf(resultOf(answers?.[0]));
    recordBlockBelow(record, block);
    return block;
  } catch {
    return undefined;
  }
}

/**
 * Whom to ask about `head`: those that showed it, those beyond it, and last those that may not have
 * it yet; and after all of them those whose score is bad, the worst last.
 */
function orderFor(state: NetworkState, found: readonly Reached[], head: Block): EndpointRecord[] {
  const nowMs = state.clock();
  const rank = (each: Reached) => {
    const score = Math.floor(scoreOf(each.record, nowMs));
    if (score > 0) return 2 + score;
    if (each.head.hash === head.hash) return 0;
    return each.head.number >= head.number ? 1 : 2;
  };
  return found.toSorted((a, b) => rank(a) - rank(b)).map(({ record }) => record);
}

/** Two endpoints at one height with two hashes: a reorg in passing, or one of them lies. */
function reportForks(found: Reached[], report: (event: NetworkEvent) => void) {
  const byNumber = new Map<number, Hex>();
  for (const { record, head } of found) {
    const other = byNumber.get(head.number);
    byNumber.set(head.number, head.hash);
    if (!other || other === head.hash) continue;
    const { name } = record.endpoint;
    const detail = `${name} has ${head.hash} at ${head.number}, another has ${other}`;
    report({ kind: "rpc_disagreement", about: "head", detail });
  }
}

/**
 * `rpc`: the relay's name. `answers`: undefined if it failed, or if another relay accepted the
 * transaction first.
 */
export type RelayAnswer = { rpc: string; answers: Answer[] | undefined };

export type Relays = { count: number; tell(calls: Call[]): Promise<RelayAnswer[]> };

/**
 * Opens relays. All are asked at the same time, and the first that accepts a transaction is enough,
 * so a silent relay delays no transaction. One that failed is skipped for some transactions, more
 * with each failure.
 */
export function openRelays(
  chainId: number,
  endpoints: readonly Endpoint[],
  report: (event: NetworkEvent) => void,
  clock: () => number,
): Relays {
  const state = { chainId, all: endpoints.map(openRecord), report, clock };
  return {
    count: endpoints.length,
    async tell(calls) {
      const asked = willing(state);
      const told = asked.map(
        ({ endpoint }): RelayAnswer => ({ rpc: endpoint.name, answers: undefined }),
      );
      const takes = asked.map(async (record, place) => {
        const answers = await ask(state, record, calls);
        told[place]!.answers = answers;
        if (!answers?.some((answer) => "result" in answer)) throw new Error("not taken");
      });
      // Rejects once none has taken it; what each said stands in `told`.
      await Promise.any(takes).catch(() => {});
      return told.map((each) => ({ ...each }));
    },
  };
}
