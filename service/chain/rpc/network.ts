// Calls several endpoints of one chain, so that no single endpoint has to be trusted. A view
// (view.ts) is the chain's state at one block. Relays, which the operator configures (`sendUrls`),
// only receive transactions.
//
// An additional endpoint never makes the answers less reliable. The height of the newest block
// needs a quorum, so an endpoint cannot invent later blocks. An endpoint is silent if its newest
// block stays the same while another endpoint advances. An endpoint is also silent if it responds
// much later than a quorum does. After minutes of silence, an endpoint does not count for the
// quorum until it answers again.

import type { Hex } from "executable-address";
import type { Endpoint } from "./endpoint.ts";
import {
  ask,
  contradict,
  type EndpointRecord,
  type Inquiry,
  markOut,
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
  takeWilling,
} from "./endpoint-record.ts";
import {
  type Answer,
  type Block,
  blockCall,
  type Call,
  ChainUnavailable,
  parseBlock,
  quantity,
  resultOf,
} from "./json-rpc.ts";
import { lateAfterMs, lateMsMin, openRound, type Round } from "./round.ts";
import { agreed, comparableBlock, type View, viewOf } from "./view.ts";

export type Network = {
  /**
   * Asks the endpoints that {@link takeWilling} returns for their newest blocks.
   * @throws {ChainUnavailable} if no endpoint is on this chain
   */
  openView(): Promise<View>;
  /**
   * Asks one endpoint for its newest block. If this block is still `head`, returns undefined.
   * Otherwise, opens a view. Successive calls ask the endpoints in turn.
   */
  openNewView(head: Hex): Promise<View | undefined>;
};

/** An endpoint that is behind is ignored if its newest block is unchanged for this time. */
const frozenMs = 60_000;

/** @param time a monotonic clock in milliseconds, and a function that waits on this clock */
export function openNetwork(
  chainId: number,
  endpoints: Endpoint[],
  report: (event: NetworkEvent) => void,
  { clock, sleep }: NetworkTime,
): Network {
  const state = { chainId, all: endpoints.map(openRecord), report, clock, sleep };
  let turn = 0;
  return {
    openView: () => openView(state, openHeadRound(state), takeWilling(state)),
    async openNewView(head) {
      const endpoints = [...takeWilling(state)];
      const [first] = endpoints.splice(turn++ % endpoints.length, 1);
      const round = openHeadRound(state);
      round.ask(first!);
      // If the first endpoint does not answer in this time, the others are asked too. The first
      // endpoint then counts as late only if it is much slower than the others.
      await Promise.race([round.next(), sleep(lateMsMin)]);
      const isSame = round.entries[0]!.value?.head.hash === head;
      return isSame ? undefined : openView(state, round, endpoints);
    },
  };
}

type NetworkTime = Pick<NetworkState, "clock" | "sleep">;

/**
 * Opens the round that reads the newest block of each endpoint. This round also waits for
 * rate-limited endpoints, because `isWhole` depends on their answers.
 */
const openHeadRound = (state: NetworkState): Round<Reached> =>
  openRound(state, quorumOf(state.all.length), (record, { isOver }) =>
    findWhere(state, record, { isOver }),
  );

/**
 * @param round contains the endpoints that were already asked
 * @param endpoints the endpoints that still have to be asked
 */
async function openView(
  state: NetworkState,
  round: Round<Reached>,
  endpoints: readonly EndpointRecord[],
): Promise<View> {
  for (const record of endpoints) round.ask(record);
  const all = (await round.all()).filter((entry) => entry !== undefined);
  if (all.length === 0) {
    throw new ChainUnavailable(`no endpoint of chain ${state.chainId} responds with this chain ID`);
  }
  const found = recordLate(state, all);
  reportForks(found, state.report);
  const expected = state.all.length - markOut(state);
  const quorum = quorumOf(expected);
  const head = await findAgreedHead(state, found, quorum);
  const order = orderFor(state, found, head);
  return viewOf(state, { head, order, quorum, isWhole: found.length >= expected });
}

/** Returns how many of `count` endpoints or relays must agree. */
export const quorumOf = (count: number): number => Math.max(1, Math.min(2, count));

/**
 * Records a failure of each endpoint that answered much later than a quorum of endpoints. Records
 * that the others are healthy, and returns them.
 */
function recordLate(state: NetworkState, all: readonly Reached[]): Reached[] {
  const times = all.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const enoughMs = times[quorumOf(state.all.length) - 1] ?? Number.POSITIVE_INFINITY;
  const lateMs = lateAfterMs(enoughMs);
  return all.filter(({ record, tookMs }) => {
    if (tookMs > lateMs) {
      const late = `returned its newest block after ${Math.round(tookMs)} ms`;
      const quorum = `a quorum answered within ${Math.round(enoughMs)} ms`;
      recordFailure(state, record, `${late}, although ${quorum}`);
      return false;
    }
    recordHealthy(record);
    return true;
  });
}

/**
 * Reads an endpoint's newest block. Returns undefined if the endpoint failed or is on another
 * chain.
 */
async function findWhere(
  state: NetworkState,
  record: EndpointRecord,
  inquiry: Inquiry,
): Promise<Reached | undefined> {
  const { clock } = state;
  const isChainAsked = takeChainCheck(record);
  const calls = [blockCall("latest")];
  if (isChainAsked) calls.push({ method: "eth_chainId", params: [] });
  const beganMs = clock();
  const answers = await ask(state, record, calls, inquiry);
  if (!answers || inquiry.isOver()) return undefined;
  const tookMs = clock() - beganMs;
  recordAnswerMs(record, tookMs);
  try {
    if (
      isChainAsked &&
      !recordChain(state, record, Number(quantity(resultOf(answers[1], "eth_chainId"))))
    ) {
      return undefined;
    }
    const head = parseBlock(answers[0]);
    return { record, head, sinceMs: recordHead(state, record, head), tookMs };
  } catch (error) {
    recordFailure(state, record, (error as Error).message);
    return undefined;
  }
}

type Reached = { record: EndpointRecord; head: Block; sinceMs: number; tookMs: number };

/**
 * Returns the newest block on which `quorum` endpoints agree in all fields. First compares the
 * endpoints' blocks at the greatest height that a quorum has reached, and then at lower heights. If
 * no block has a quorum, returns one endpoint's block at that greatest height.
 */
async function findAgreedHead(
  state: NetworkState,
  found: Reached[],
  quorum: number,
): Promise<Block> {
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
    const blocks = await readBlockOfEach(state, showing, number, quorum);
    const texts = blocks.map((block) => block && comparableBlock(block));
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

function readBlockOfEach(
  state: NetworkState,
  showing: readonly Reached[],
  number: number,
  quorum: number,
): Promise<(Block | undefined)[]> {
  const round = openRound(state, quorum, async (record, inquiry) => {
    const { head } = showing.find((each) => each.record === record)!;
    if (head.number === number) return head;
    if (record.head?.below?.number === number) return record.head.below;
    const answers = await ask(state, record, [blockCall(number)], inquiry);
    try {
      const block = parseBlock(answers?.[0]);
      recordBlockBelow(record, block);
      return block;
    } catch {
      return undefined;
    }
  });
  for (const { record } of showing) round.ask(record);
  return round.all();
}

/**
 * Sorts the endpoints for reads at `head`:
 * - first, endpoints that returned this block
 * - then, endpoints with a later block
 * - then, endpoints that may not have the block yet
 * - last, endpoints with penalty points, by the number of points
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

/**
 * Reports a disagreement if two endpoints have different blocks at the same height. The cause is a
 * reorganization or an endpoint that returns wrong blocks.
 */
function reportForks(found: Reached[], report: (event: NetworkEvent) => void) {
  const byNumber = new Map<number, Hex>();
  for (const { record, head } of found) {
    const other = byNumber.get(head.number);
    byNumber.set(head.number, head.hash);
    if (!other || other === head.hash) continue;
    const returned = `${record.endpoint.name} returns ${head.hash}`;
    const detail = `block ${head.number}: ${returned}, but another endpoint returns ${other}`;
    report({ kind: "rpc_disagreement", about: "head", detail });
  }
}

/**
 * The answers of the relay that is named `rpc`. `answers` is undefined if the relay failed. It is
 * also undefined if another relay accepted the transaction before this relay answered.
 */
export type RelayAnswer = { rpc: string; answers: Answer[] | undefined };

export type Relays = { count: number; send(calls: Call[]): Promise<RelayAnswer[]> };

/**
 * Opens relays. A transaction is sent to all relays simultaneously. One acceptance is sufficient,
 * so a silent relay causes no delay. A relay that keeps failing is skipped for a growing number of
 * transactions. A relay is also skipped while its provider demands a pause. Such a pause is not a
 * failure.
 */
export function openRelays(
  chainId: number,
  endpoints: readonly Endpoint[],
  report: (event: NetworkEvent) => void,
  time: NetworkTime,
): Relays {
  const state = { chainId, all: endpoints.map(openRecord), report, ...time };
  return {
    count: endpoints.length,
    async send(calls) {
      const endpoints = takeWilling(state).filter(({ endpoint }) => !endpoint.isPaused?.(calls));
      const found = endpoints.map(
        ({ endpoint }): RelayAnswer => ({ rpc: endpoint.name, answers: undefined }),
      );
      const accepted = Promise.withResolvers<void>();
      const asked = endpoints.map(async (record, place) => {
        const list = await ask(state, record, calls);
        found[place]!.answers = list;
        if (list?.some((answer) => "result" in answer)) accepted.resolve();
      });
      await Promise.race([accepted.promise, Promise.allSettled(asked)]);
      return found.map((each) => ({ ...each }));
    },
  };
}
