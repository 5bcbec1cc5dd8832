// Finds money that nobody could move again: sent to an address without an owner, or by a plain
// transfer to a contract that cannot send it on.

import { type Hex, type Intent, type Path, zeroAddress } from "executable-address";
import type { Finding, Simulation } from "executable-address/client";
import type { StatusSubject } from "executable-address/status";
import { hexToBigInt } from "viem/utils";
import { type Codes, canMoveTokens, isDelegating } from "./contracts.ts";

/** An account that receives a token, with the `path` at which the intent names it. */
export type Receiver = { readonly account: Hex; readonly path: Path };

const plain = /^(transfer|safeTransfer|mint)\(address \w+, uint256 \w+\)$/;
const from = /^(transferFrom|safeTransferFrom)\(address \w+, address \w+, uint256 \w+\)$/;

/**
 * Finds the receivers that a call names or whose balance grows in the run; `recovery` is the last.
 */
export function receiversOf(
  { address, intent }: StatusSubject,
  { changes }: Pick<Simulation, "changes">,
): Receiver[] {
  const named = intent.calls.flatMap(({ function: text, args }, index): Receiver[] => {
    const at = plain.test(text) ? 0 : from.test(text) ? 1 : undefined;
    if (at === undefined || args[at + 1] === "0") return [];
    return [{ account: args[at] as Hex, path: ["calls", index, "args", at] }];
  });
  const shown = changes
    .filter(({ token, change }) => token !== zeroAddress && BigInt(change) > 0n)
    .map(({ account }) => ({ account, path: placeOf(account, intent) }));
  const recovery: Receiver = { account: intent.recovery, path: ["recovery"] };
  const found = new Map<Hex, Receiver>();
  for (const receiver of [...named, ...shown, recovery])
    if (receiver.account !== address && !found.has(receiver.account))
      found.set(receiver.account, receiver);
  return [...found.values()];
}

function placeOf(account: Hex, { calls }: Intent): Path {
  for (const [index, { args }] of calls.entries()) {
    const at = args.indexOf(account);
    if (at >= 0) return ["calls", index, "args", at];
  }
  const target = calls.findIndex((call) => call.target === account);
  return target >= 0 ? ["calls", target, "target"] : ["calls"];
}

const burnt: ReadonlySet<Hex> = new Set<Hex>(["0x000000000000000000000000000000000000dEaD"]);
/** The zero address and all current precompiles are below this address. */
const ordinaryMin = 1n << 16n;

/** @param codes of the receivers */
export function findLost(
  { intent }: StatusSubject,
  receivers: readonly Receiver[],
  factory: Hex,
  codes: Codes,
): Finding[] {
  const called = new Set(
    intent.calls.filter((call) => !plain.test(call.function)).map(({ target }) => target),
  );
  return receivers.flatMap(({ account, path }): Finding[] => {
    const isNobody =
      burnt.has(account) || account === factory || hexToBigInt(account) < ordinaryMin;
    if (isNobody || (account === intent.token && path[0] !== "recovery"))
      return [{ path, code: "money_lost", ...lost }];
    const code = codes.get(account) ?? "0x";
    if (code === "0x" || isDelegating(code) || called.has(account) || canMoveTokens(code))
      return [];
    return [{ path, code: "receiver_cannot_move", ...stuck }];
  });
}

const lost = {
  message: "nobody can move money that is sent to this address",
  cure: "use the address of the intended recipient",
};
const stuck = {
  message: "a contract that receives a plain transfer, and whose code cannot send tokens on",
  cure: "it may need approve and a call instead; or use a wallet address",
};
