// What one pass works with: the head it believes, reads that fall back to another endpoint, and
// answers side by side where one endpoint could deceive.

import type { Hex } from "executable-address";
import { type Answer, type Block, type Call, ChainUnavailable } from "./json-rpc.ts";
import { ask, type Known, type NetworkState, punish } from "./known.ts";

/** Whether the answer to call number `index` can be worked with; otherwise another is asked. */
type Usable = (answer: Answer, index: number) => boolean;

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

/** `order`: whom to ask first about `head`. */
type Belief = Pick<View, "head" | "quorum" | "isWhole"> & { order: Known[] };

export function viewOf(state: NetworkState, { head, order, quorum, isWhole }: Belief): View {
  const { all } = state;
  const isResult = (answer: Answer) => "result" in answer;
  const inTurn = (turn: number) => {
    const start = turn % all.length;
    return [...all.slice(start), ...all.slice(0, start)].filter((known) => order.includes(known));
  };
  const readFrom = async (asked: Known[], calls: Call[], usable: Usable, count: number) => {
    const found: Answer[][] = [];
    let reason = "";
    for (const known of asked) {
      const answers = await ask(state, known, calls);
      if (!answers) continue;
      const fault = answers.find((answer, index) => !usable(answer, index));
      if (fault) {
        reason = "error" in fault ? fault.error.message : "unusable answer";
        punish(state, known, reason);
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
        if (await ask(state, known, [{ method: "eth_chainId", params: [] }])) return undefined;
      }
      throw new ChainUnavailable(`no endpoint answers ${calls[0]?.method}`);
    },
    readEach: (calls) => Promise.all(order.map((known) => ask(state, known, calls))),
  };
}
