// Several endpoints of one chain, none of them trusted alone. A view is what one pass works with:
// the head it believes, reads that fall back, and answers side by side where one could deceive.
//
// Two endpoints are never worse than one. The head is the newest block that enough of them have
// reached, so one that runs ahead moves nothing; one whose head stands still while another's moves
// counts no more than one that is silent; and one that was silent for minutes is left out of the
// count until it answers again.

import type { Hex } from "executable-address";
import type { Endpoint } from "./endpoint.ts";
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

/** Whether the answer to call number `index` can be worked with; otherwise another is asked. */
export type Usable = (answer: Answer, index: number) => boolean;

export type View = {
  head: Block;
  /** The state after `head`, by its hash, so that another endpoint cannot mix in another block. */
  at: { blockHash: Hex };
  /**
   * From the endpoint that showed the head, or the next whose answers are all usable: results,
   * where nothing else is said.
   */
  read(calls: Call[], usable?: Usable): Promise<Answer[]>;
  /** As `read`, beginning with another endpoint at each turn. */
  readInTurn(calls: Call[], turn: number, usable?: Usable): Promise<Answer[]>;
  /** As `readInTurn`, from `quorum` endpoints where so many have usable answers; one at least. */
  readSeveral(calls: Call[], turn: number, usable: Usable): Promise<Answer[][]>;
  /**
   * As `readInTurn`, for calls that may be too much for any endpoint.
   * @returns undefined where one that is alive did not answer them within `timeoutMs`
   */
  tryRead(calls: Call[], turn: number, timeoutMs: number): Promise<Answer[] | undefined>;
  /** From every endpoint of this chain; undefined where one failed. */
  readEach(calls: Call[]): Promise<(Answer[] | undefined)[]>;
  /** How many endpoints must say the same before it is believed. */
  quorum: number;
  /** Every endpoint there is, but for those long silent, answered as one of this chain. */
  isWhole: boolean;
};

export type Network = {
  /** Asks every endpoint where it is. @throws {ChainUnavailable} when none is on this chain */
  look(): Promise<View>;
};

export type NetworkEvent =
  | { kind: "rpc_failed"; rpc: string; message: string }
  | { kind: "rpc_wrong_chain"; rpc: string; found: number }
  | { kind: "rpc_out"; rpc: string }
  | { kind: "rpc_disagreement"; about: "head" | "receipt" | "state"; detail: string };

/** Passes an endpoint stands back after failing, doubled each time up to this. */
const penaltyMax = 16;
/** Looks after which an endpoint is asked again which chain it is of. */
const chainCheckedLooks = 300;
/** A head below another's that did not move for so long counts for nothing. */
const frozenMs = 60_000;
/** Silent for so long, an endpoint is not waited for any more. */
export const outMs = 300_000;

/** What is known of one endpoint. */
type Known = {
  endpoint: Endpoint;
  penalty: { passes: number; last: number };
  /** Looks until it has to name its chain again. */
  chainCheckIn: number;
  head: { block: Block; sinceMs: number } | undefined;
  /** When it began to fail, since it last answered. */
  failingSinceMs: number | undefined;
  isOut: boolean;
};

/** @param clock milliseconds by a clock that does not go back */
export function openNetwork(
  chainId: number,
  endpoints: Endpoint[],
  report: (event: NetworkEvent) => void,
  clock: () => number,
): Network {
  const all = endpoints.map(
    (endpoint): Known => ({
      endpoint,
      penalty: { passes: 0, last: 0 },
      chainCheckIn: 0,
      head: undefined,
      failingSinceMs: undefined,
      isOut: false,
    }),
  );

  const punish = (known: Known, message: string) => {
    const last = Math.min(known.penalty.last * 2 || 1, penaltyMax);
    known.penalty = { passes: last, last };
    known.chainCheckIn = 0;
    known.failingSinceMs ??= clock();
    report({ kind: "rpc_failed", rpc: known.endpoint.name, message });
  };

  const ask = async (known: Known, calls: Call[]) => {
    try {
      return await known.endpoint.ask(calls);
    } catch (error) {
      punish(known, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  };

  const whereIs = async (known: Known): Promise<Found | undefined> => {
    const isChecked = known.chainCheckIn-- > 0;
    const calls = [blockCall("latest")];
    if (!isChecked) calls.push({ method: "eth_chainId", params: [] });
    const answers = await ask(known, calls);
    if (!answers) return undefined;
    try {
      const found = isChecked ? chainId : Number(quantity(resultOf(answers[1])));
      if (found !== chainId) {
        known.chainCheckIn = 0;
        known.failingSinceMs ??= clock();
        report({ kind: "rpc_wrong_chain", rpc: known.endpoint.name, found });
        return undefined;
      }
      if (!isChecked) known.chainCheckIn = chainCheckedLooks;
      const head = blockOf(resultOf(answers[0]));
      if (known.head?.block.hash !== head.hash) known.head = { block: head, sinceMs: clock() };
      known.failingSinceMs = undefined;
      known.isOut = false;
      return { known, head, sinceMs: known.head!.sinceMs };
    } catch (error) {
      punish(known, (error as Error).message);
      return undefined;
    }
  };

  const countOut = () => {
    for (const known of all) {
      const { failingSinceMs, isOut } = known;
      if (isOut || failingSinceMs === undefined || clock() - failingSinceMs < outMs) continue;
      known.isOut = true;
      report({ kind: "rpc_out", rpc: known.endpoint.name });
    }
    return all.filter(({ isOut }) => isOut).length;
  };

  return {
    async look() {
      for (const { penalty } of all) {
        if (penalty.passes > 0) penalty.passes--;
        else penalty.last = Math.floor(penalty.last / 2);
      }
      // One that hangs costs its timeout each time it is asked, so for a while it is not.
      const willing = all.filter(({ penalty }) => penalty.passes === 0);
      const asked = willing.length > 0 ? willing : all;
      const found = (await Promise.all(asked.map(whereIs))).filter((entry) => entry !== undefined);
      if (found.length === 0) {
        throw new ChainUnavailable(`no endpoint of chain ${chainId} answers as itself`);
      }
      reportForks(found, report);
      const expected = all.length - countOut();
      const quorum = Math.max(1, Math.min(2, expected));
      const { head, order } = believed(found, quorum, clock());
      return viewOf({ head, order, all, quorum, isWhole: found.length >= expected, ask, punish });
    },
  };
}

type Found = { known: Known; head: Block; sinceMs: number };

/**
 * The newest block that `quorum` of those that are alive have reached, and whom to ask about it:
 * those that showed it, those beyond it, and last those that may not have it yet.
 */
function believed(found: Found[], quorum: number, nowMs: number): { head: Block; order: Known[] } {
  const byHeight = found.toSorted((a, b) => b.head.number - a.head.number);
  const highest = byHeight[0]!;
  const isFrozen = ({ head, sinceMs }: Found) =>
    head.number < highest.head.number && nowMs - sinceMs > frozenMs;
  const alive = byHeight.filter((each) => !isFrozen(each));
  const { head } = alive[Math.min(quorum, alive.length) - 1]!;
  const rank = (each: Found) => {
    if (each.head.hash === head.hash) return 0;
    return each.head.number >= head.number ? 1 : 2;
  };
  const order = found.toSorted((a, b) => rank(a) - rank(b)).map(({ known }) => known);
  return { head, order };
}

type ViewParts = {
  head: Block;
  order: Known[];
  all: Known[];
  quorum: number;
  isWhole: boolean;
  ask(known: Known, calls: Call[]): Promise<Answer[] | undefined>;
  punish(known: Known, message: string): void;
};

function viewOf({ head, order, all, quorum, isWhole, ask, punish }: ViewParts): View {
  const isResult = (answer: Answer) => "result" in answer;
  const inTurn = (turn: number) => {
    const start = turn % all.length;
    return [...all.slice(start), ...all.slice(0, start)].filter((known) => order.includes(known));
  };
  const readFrom = async (asked: Known[], calls: Call[], usable: Usable, count: number) => {
    const found: Answer[][] = [];
    let reason = "";
    for (const known of asked) {
      const answers = await ask(known, calls);
      if (!answers) continue;
      const fault = answers.find((answer, index) => !usable(answer, index));
      if (fault) {
        reason = "error" in fault ? fault.error.message : "unusable answer";
        punish(known, reason);
      } else found.push(answers);
      if (found.length === count) break;
    }
    if (found.length > 0) return found;
    throw new ChainUnavailable(`no endpoint answers ${calls[0]?.method}: ${reason}`);
  };
  return {
    head,
    at: { blockHash: head.hash },
    quorum,
    isWhole,
    read: async (calls, usable = isResult) =>
      calls.length === 0 ? [] : (await readFrom(order, calls, usable, 1))[0]!,
    readInTurn: async (calls, turn, usable = isResult) =>
      (await readFrom(inTurn(turn), calls, usable, 1))[0]!,
    readSeveral: (calls, turn, usable) => readFrom(inTurn(turn), calls, usable, quorum),
    async tryRead(calls, turn, timeoutMs) {
      for (const known of inTurn(turn)) {
        const answers = await known.endpoint.ask(calls, timeoutMs).catch(() => undefined);
        if (answers) return answers;
        // What was asked may be to blame, or the endpoint: a question that costs nothing tells.
        if (await ask(known, [{ method: "eth_chainId", params: [] }])) return undefined;
      }
      throw new ChainUnavailable(`no endpoint answers ${calls[0]?.method}`);
    },
    readEach: (calls) => Promise.all(order.map((known) => ask(known, calls))),
  };
}

/** Two endpoints at one height with two hashes: a reorg in passing, or one of them lies. */
function reportForks(found: Found[], report: (event: NetworkEvent) => void) {
  const byNumber = new Map<number, Hex>();
  for (const { known, head } of found) {
    const other = byNumber.get(head.number);
    byNumber.set(head.number, head.hash);
    if (!other || other === head.hash) continue;
    const { name } = known.endpoint;
    const detail = `${name} has ${head.hash} at ${head.number}, another has ${other}`;
    report({ kind: "rpc_disagreement", about: "head", detail });
  }
}
