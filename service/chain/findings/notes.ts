// Notes say what a check cannot promise: somebody may change the answers of a contract before the
// address is paid. That is no fault of the intent, so notes are told apart from findings.

import type { Hex } from "executable-address";
import type { Note } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { size } from "viem/utils";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { viewCall } from "../rpc/view-call.ts";
import { type Codes, isProxy } from "./codes.ts";
import { askAll } from "./questions.ts";

/** Contracts that say whether they are paused, which somebody can change: whether each is now. */
export type Pausable = ReadonlyMap<Hex, boolean>;

export async function askPaused(
  rpc: ChainRpc,
  block: BlockReference,
  contracts: Iterable<Hex>,
): Promise<Pausable> {
  const asked = [...new Set(contracts)];
  const questions = asked.map((contract) => viewCall(contract, "paused()"));
  const { replies } = await askAll(rpc, block, questions);
  const said = asked.flatMap((contract, at): [Hex, boolean][] => {
    const reply = replies[at];
    const isSaid = reply?.succeeded === true && size(reply.data) === 32;
    return isSaid ? [[contract, BigInt(reply.data) === 1n]] : [];
  });
  return new Map(said);
}

export function notesOf({ intent }: StatusSubject, codes: Codes, pausable: Pausable): Note[] {
  const notes: Note[] = [];
  const isProxied = (contract: Hex) => isProxy(codes.get(contract) ?? "0x");
  if (isProxied(intent.token) || pausable.has(intent.token)) {
    const what = isProxied(intent.token)
      ? "a proxy: its issuer can change what it does"
      : "one that can pause";
    const message = `the token is ${what}; a payment may be answered otherwise than this check`;
    notes.push({ path: ["token"], code: "token_may_change", message });
  }
  intent.calls.forEach(({ target }, index) => {
    if (target === intent.token || !(isProxied(target) || pausable.has(target))) return;
    const message = isProxied(target)
      ? "a proxy: its owner can change what this call does before the address is paid"
      : "one that can pause: its owner can make this call fail before the address is paid";
    notes.push({ path: ["calls", index, "target"], code: "target_may_change", message });
  });
  return notes;
}
