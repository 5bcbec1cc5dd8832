// Splits the gas of one execution into its parts, using a trace of its transaction.

import { type Hex, hexToBytes } from "viem";
import type { Chain } from "../testing/local-chain.ts";

type Step = { op: string; depth: number; gas: number; gasCost: number };
type Frame = "factory" | "init code" | "vault" | "token";

/**
 * Returns the gas of each part. The sum equals the receipt's gas. The chain must support traces of
 * single opcodes.
 */
export async function splitGas(chain: Chain, hash: Hex): Promise<Record<string, number>> {
  const { input } = await chain.client.getTransaction({ hash });
  const { gasUsed } = await chain.client.getTransactionReceipt({ hash });
  const trace = await chain.client.request<{ Parameters: unknown[]; ReturnType: unknown }>({
    method: "debug_traceTransaction",
    params: [hash, { disableStorage: true, disableMemory: true }],
  } as never);
  const parts: Record<string, number> = { transaction: 21_000, calldata: calldataGas(input) };
  const add = (part: string, gas: number) => {
    parts[part] = (parts[part] ?? 0) + gas;
  };
  for (const [frame, op, gas] of ownGas((trace as { structLogs: Step[] }).structLogs)) {
    if (op === "CREATE2") {
      add("CREATE2", 32_000);
      add("41 bytes left, and hashing", gas - 32_000);
    } else if (frame === "factory" && op === "EXTCODESIZE") add("is it over?", gas);
    else if (frame === "factory" && op.startsWith("LOG")) add("event", gas);
    else if (frame === "token") add("token, its second balanceOf included", gas);
    else if (op === "STATICCALL" || op === "CALL") add("calls to the token", gas);
    else add(`code of ${frame}`, gas);
  }
  const sum = Object.values(parts).reduce((total, gas) => total + gas, 0);
  parts.refund = Number(gasUsed) - sum;
  return parts;
}

const calldataGas = (input: Hex) =>
  hexToBytes(input).reduce((total, byte) => total + (byte === 0 ? 4 : 16), 0);

/** Yields the frame, the opcode, and the gas of each step. The gas excludes inner frames. */
function* ownGas(steps: Step[]): Generator<[Frame, string, number]> {
  const frames: Frame[] = ["factory"];
  for (const [i, step] of steps.entries()) {
    frames.length = step.depth;
    const frame = frames.at(-1)!;
    const next = steps[i + 1];
    if (!next || next.depth < step.depth) yield [frame, step.op, step.gasCost];
    else if (next.depth === step.depth) yield [frame, step.op, step.gas - next.gas];
    else {
      const after = steps.findIndex((later, j) => j > i && later.depth === step.depth);
      const last = steps[after - 1]!;
      const inner = next.gas - (last.gas - last.gasCost);
      yield [frame, step.op, step.gas - steps[after]!.gas - inner];
      frames.push(opened(frame, step.op));
    }
  }
}

function opened(frame: Frame, op: string): Frame {
  if (op === "CREATE2") return "init code";
  return frame === "init code" ? "vault" : "token";
}
