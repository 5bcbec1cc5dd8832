// Simulates the recovery of one token at a quorum of endpoints. A token can be any contract. So the
// recovery has a gas limit, and only measured balances count. If the endpoints' answers differ, the
// most cautious answer counts.

import type { Hex } from "executable-address";
import type { AtBlock } from "../rpc/chain-rpc.ts";
import { type Answer, hexData } from "../rpc/json-rpc.ts";
import { meterCode, parseMeter } from "./meter.ts";

/** A recovery of one token. `data` is the factory's calldata. */
type Return = {
  factory: Hex;
  vault: Hex;
  recovery: Hex;
  token: Hex;
  data: Hex;
  from: Hex;
  gasMax: number;
};

/** `unknown`: an endpoint could not run the recovery. */
export type ReturnOutcome = "moves" | "stays" | "unknown";

/** Simulates a recovery to check whether the token leaves the address and reaches `recovery`. */
export async function measureReturn(
  { chainId, timestamp, ask }: AtBlock,
  { factory, vault, recovery, token, data, from, gasMax }: Return,
): Promise<ReturnOutcome> {
  const pairs = [vault, recovery].map((account) => ({ account, token }));
  const code = meterCode(pairs, factory, data, gasMax);
  const question = (at: unknown) => ({ method: "eth_call", params: [{ from, data: code }, at] });
  const judge = (answer: Answer | undefined): ReturnOutcome => {
    if (!answer || "error" in answer) return "unknown";
    const measured = parseMeter(hexData(answer.result), pairs.length);
    if (measured.chainId !== chainId || measured.timestamp !== timestamp) return "unknown";
    const [held, received] = measured.before;
    const [left, receives] = measured.after;
    const isKnown = held !== undefined && received !== undefined;
    const isMoved = isKnown && (left ?? held) < held && (receives ?? 0n) > received;
    return measured.succeeded && isMoved ? "moves" : "stays";
  };
  const lists = await ask([question], () => true);
  const outcomes = lists.map(([answer]) => {
    try {
      return judge(answer);
    } catch {
      return "unknown";
    }
  });
  if (outcomes.includes("stays")) return "stays";
  return outcomes.includes("unknown") ? "unknown" : "moves";
}
