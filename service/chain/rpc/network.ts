// Several endpoints of one chain, none of them trusted alone. A view is what one pass works with:
// the head it believes, reads that fall back, and answers side by side where one could deceive.

import type { Hex } from "executable-address";
import {
  type Block,
  blockOf,
  quantity,
  type Rpc,
  type RpcAnswer,
  type RpcCall,
  RpcUnavailable,
  resultOf,
  toQuantity,
} from "./json-rpc.ts";

/** Whether the answer to call number `index` can be worked with; otherwise another is asked. */
export type Usable = (answer: RpcAnswer, index: number) => boolean;

export type View = {
  head: Block;
  /** The state after `head`, by its hash, so that another endpoint cannot mix in another block. */
  at: { blockHash: Hex };
  /**
   * From the endpoint that showed the head, or the next whose answers are all usable: results,
   * where nothing else is said.
   */
  read(calls: RpcCall[], usable?: Usable): Promise<RpcAnswer[]>;
  /** As `read`, beginning with another endpoint at each turn. */
  readInTurn(calls: RpcCall[], turn: number, usable?: Usable): Promise<RpcAnswer[]>;
  /** As `readInTurn`, from `quorum` endpoints where so many have usable answers; one at least. */
  readSeveral(calls: RpcCall[], turn: number, usable: Usable): Promise<RpcAnswer[][]>;
  /** From every endpoint of this chain; undefined where one failed. */
  readEach(calls: RpcCall[]): Promise<(RpcAnswer[] | undefined)[]>;
  /** How many endpoints must say the same before it is believed. */
  quorum: number;
  /** Every endpoint there is answered as one of this chain. */
  isWhole: boolean;
};

export type Network = {
  /** Asks every endpoint where it is. @throws {RpcUnavailable} when none is on this chain */
  look(): Promise<View>;
};

export type NetworkEvent =
  | { kind: "rpc_failed"; rpc: string; message: string }
  | { kind: "rpc_wrong_chain"; rpc: string; found: number }
  | { kind: "rpc_disagreement"; about: "head" | "receipt" | "state"; detail: string };

/** Passes an endpoint stands back after failing, doubled each time up to this. */
const penaltyMax = 16;

export function openNetwork(
  chainId: number,
  rpcs: Rpc[],
  report: (event: NetworkEvent) => void,
): Network {
  const penalties = new Map<Rpc, { passes: number; last: number }>();
  const punish = (rpc: Rpc, message: string) => {
    const last = Math.min((penalties.get(rpc)?.last ?? 0) * 2 || 1, penaltyMax);
    penalties.set(rpc, { passes: last, last });
    report({ kind: "rpc_failed", rpc: rpc.name, message });
  };

  const ask = async (rpc: Rpc, calls: RpcCall[]) => {
    try {
      return await rpc.ask(calls);
    } catch (error) {
      punish(rpc, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  };

  const whereIs = async (rpc: Rpc): Promise<{ rpc: Rpc; head: Block } | undefined> => {
    const answers = await ask(rpc, [
      { method: "eth_chainId", params: [] },
      { method: "eth_getBlockByNumber", params: ["latest", false] },
    ]);
    if (!answers) return undefined;
    try {
      const found = Number(quantity(resultOf(answers[0])));
      if (found === chainId) return { rpc, head: blockOf(resultOf(answers[1])) };
      report({ kind: "rpc_wrong_chain", rpc: rpc.name, found });
    } catch (error) {
      punish(rpc, (error as Error).message);
    }
    return undefined;
  };

  return {
    async look() {
      for (const penalty of penalties.values()) {
        if (penalty.passes > 0) penalty.passes--;
        else penalty.last = Math.floor(penalty.last / 2);
      }
      // One that hangs costs its timeout each time it is asked, so for a while it is not.
      const isBack = (rpc: Rpc) => (penalties.get(rpc)?.passes ?? 0) > 0;
      const willing = rpcs.filter((rpc) => !isBack(rpc));
      const asked = willing.length > 0 ? willing : rpcs;
      const found = (await Promise.all(asked.map(whereIs))).filter((entry) => entry !== undefined);
      found.sort((a, b) => b.head.number - a.head.number);
      const first = found[0];
      if (!first) throw new RpcUnavailable(`no endpoint of chain ${chainId} answers as itself`);
      reportForks(found, report);
      return viewOf(
        first.head,
        found.map((entry) => entry.rpc),
        rpcs,
        { ask, punish },
      );
    },
  };
}

type Asking = {
  ask(rpc: Rpc, calls: RpcCall[]): Promise<RpcAnswer[] | undefined>;
  punish(rpc: Rpc, message: string): void;
};

function viewOf(head: Block, rpcs: Rpc[], known: Rpc[], { ask, punish }: Asking): View {
  const quorum = Math.min(2, known.length);
  const isResult = (answer: RpcAnswer) => "result" in answer;
  const inTurn = (turn: number) => {
    const start = turn % known.length;
    const order = [...known.slice(start), ...known.slice(0, start)];
    return order.filter((rpc) => rpcs.includes(rpc));
  };
  const readFrom = async (order: Rpc[], calls: RpcCall[], usable: Usable, count: number) => {
    const found: RpcAnswer[][] = [];
    let reason = "";
    for (const rpc of order) {
      const answers = await ask(rpc, calls);
      if (!answers) continue;
      const fault = answers.find((answer, index) => !usable(answer, index));
      if (fault) {
        reason = "error" in fault ? fault.error.message : "unusable answer";
        punish(rpc, reason);
      } else found.push(answers);
      if (found.length === count) break;
    }
    if (found.length > 0) return found;
    throw new RpcUnavailable(`no endpoint answers ${calls[0]?.method}: ${reason}`);
  };
  return {
    head,
    at: { blockHash: head.hash },
    quorum,
    isWhole: rpcs.length === known.length,
    read: async (calls, usable = isResult) =>
      calls.length === 0 ? [] : (await readFrom(rpcs, calls, usable, 1))[0]!,
    readInTurn: async (calls, turn, usable = isResult) =>
      (await readFrom(inTurn(turn), calls, usable, 1))[0]!,
    readSeveral: (calls, turn, usable) => readFrom(inTurn(turn), calls, usable, quorum),
    readEach: (calls) => Promise.all(rpcs.map((rpc) => ask(rpc, calls))),
  };
}

/** Two endpoints at one height with two hashes: a reorg in passing, or one of them lies. */
function reportForks(found: { rpc: Rpc; head: Block }[], report: (event: NetworkEvent) => void) {
  const byNumber = new Map<number, Hex>();
  for (const { rpc, head } of found) {
    const other = byNumber.get(head.number);
    byNumber.set(head.number, head.hash);
    if (!other || other === head.hash) continue;
    const detail = `${rpc.name} has ${head.hash} at ${head.number}, another has ${other}`;
    report({ kind: "rpc_disagreement", about: "head", detail });
  }
}

/** Parameters of a block by number. */
export function blockCall(number: number): RpcCall {
  return { method: "eth_getBlockByNumber", params: [toQuantity(number), false] };
}
