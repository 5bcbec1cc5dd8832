// Finds out whether an intent's contracts are proxies, are paused, or could move a token. A proxy
// can change its behavior between the check and the payment. No check can predict such a change.
// But using a proxy is not a mistake, so a proxy causes a note and not a finding.

import type { Hex } from "executable-address";
import type { Note } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { size } from "viem/utils";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { askAt, encodeViewCall } from "../rpc/chain-rpc.ts";
import { hexData } from "../rpc/json-rpc.ts";
import { askAll } from "./questions.ts";

/** The code by address; `0x` if an address has no code. */
export type Codes = ReadonlyMap<Hex, Hex>;

export async function readCodes(
  rpc: ChainRpc,
  block: BlockReference,
  accounts: Iterable<Hex>,
): Promise<Codes> {
  const read = async (account: Hex): Promise<[Hex, Hex]> => {
    const ask = (at: unknown) => ({ method: "eth_getCode", params: [account, at] });
    return [account, hexData(await askAt(rpc, block, ask))];
  };
  return new Map(await Promise.all([...new Set(accounts)].map(read)));
}

/** Returns whether the account delegates to a contract (EIP-7702). */
export const isDelegating = (code: Hex): boolean => code.length === 48 && code.startsWith("0xef01");

/**
 * The slots in which proxies store the address of their implementation. Two are from EIP-1967, and
 * one is from older OpenZeppelin versions.
 */
const proxySlots = [
  "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc",
  "a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50",
  "7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3",
];

/** Returns whether the contract is a proxy, whose implementation can be replaced. */
export const isProxy = (code: Hex): boolean => proxySlots.some((slot) => code.includes(slot));

const opcode = { calldatacopy: 0x37, push1: 0x60, push32: 0x7f, call: 0xf1 } as const;
/**
 * CALLCODE and DELEGATECALL run another contract's code, which can do anything in the caller's
 * name.
 */
const foreign: ReadonlySet<number> = new Set([0xf2, 0xf4]);
/** `transfer(address,uint256)`, `approve(address,uint256)` */
const moving: ReadonlySet<string> = new Set(["a9059cbb", "095ea7b3"]);

/**
 * Returns whether the code could move tokens. Code with CALLCODE or DELEGATECALL can always move
 * tokens. Other code can do so only with a CALL. The call's selector is in the code, or comes from
 * a CALLDATACOPY. The result may be a false positive.
 */
export function canMoveTokens(code: Hex): boolean {
  const bytes = withoutMetadata(Buffer.from(code.slice(2), "hex"));
  let [calls, names] = [false, false];
  for (let at = 0; at < bytes.length; at++) {
    const found = bytes[at]!;
    if (foreign.has(found)) return true;
    if (found === opcode.call) calls = true;
    if (found === opcode.calldatacopy) names = true;
    if (found < opcode.push1 || found > opcode.push32) continue;
    const length = found - opcode.push1 + 1;
    const pushed = bytes.subarray(at + 1, at + 1 + length).toString("hex");
    if (length >= 4 && [...moving].some((selector) => pushed.startsWith(selector))) names = true;
    at += length;
  }
  return calls && names;
}

/** Removes the CBOR metadata that solc appends to the code. The last two bytes are its length. */
function withoutMetadata(bytes: Buffer): Buffer {
  if (bytes.length < 2) return bytes;
  const start = bytes.length - 2 - bytes.readUInt16BE(bytes.length - 2);
  return start > 0 && [0xa1, 0xa2, 0xa3].includes(bytes[start]!) ? bytes.subarray(0, start) : bytes;
}

/** Whether each contract is paused now. Contracts without a `paused()` function have no entry. */
export type Pausable = ReadonlyMap<Hex, boolean>;

export async function askPaused(
  rpc: ChainRpc,
  block: BlockReference,
  contracts: Iterable<Hex>,
): Promise<Pausable> {
  const distinct = [...new Set(contracts)];
  const questions = distinct.map((contract) => encodeViewCall(contract, "paused()"));
  const { replies } = await askAll(rpc, block, questions);
  const answers = distinct.flatMap((contract, at): [Hex, boolean][] => {
    const reply = replies[at];
    const isKnown = reply?.succeeded === true && size(reply.data) === 32;
    return isKnown ? [[contract, BigInt(reply.data) === 1n]] : [];
  });
  return new Map(answers);
}

export function notesOf({ intent }: StatusSubject, codes: Codes, pausable: Pausable): Note[] {
  const notes: Note[] = [];
  const isProxied = (contract: Hex) => isProxy(codes.get(contract) ?? "0x");
  if (isProxied(intent.token) || pausable.has(intent.token)) {
    const what = isProxied(intent.token)
      ? "a proxy whose code the issuer can change"
      : "a contract that can be paused";
    const message = `the token is ${what}, so the result of a payment can differ from this check`;
    notes.push({ path: ["token"], code: "token_may_change", message });
  }
  intent.calls.forEach(({ target }, index) => {
    if (target === intent.token || !(isProxied(target) || pausable.has(target))) return;
    const message = isProxied(target)
      ? "the target is a proxy, so its owner can change this call's effect before the address is " +
        "paid"
      : "the owner can pause the target before the address is paid, and then this call fails";
    notes.push({ path: ["calls", index, "target"], code: "target_may_change", message });
  });
  return notes;
}
