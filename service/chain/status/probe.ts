// What many addresses hold, at one block, in one eth_call. The program below is sent as the init
// code of a creation that never happens, so it needs nothing deployed on the chain; unlike
// Multicall3 it also sees how long an address's code is. It answers the chain id and the block's
// time as well, so that an answer from another chain or another block cannot pass for this one.

import type { Hex } from "executable-address";
import type { BlockReference, Holding } from "executable-address/status";
import { concat, hexToBigInt, size, sliceHex } from "viem";
import { runAt } from "../rpc/call-at.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { ChainUnavailable } from "../rpc/json-rpc.ts";

/** What is asked for: what `vault` holds of `token`, and of the native coin. */
export type Holder = { vault: Hex; token: Hex };

/**
 *     CHAINID PUSH0 MSTORE TIMESTAMP PUSH1 20 MSTORE       answer: chain id, time, …
 *     PUSH1 70 PUSH1 40                                    stack: out, in (of the first subject)
 * 0b: JUMPDEST CODESIZE DUP3 LT PUSH1 14 JUMPI             one more subject?
 *     PUSH0 RETURN                                         no: answer memory 0 to out
 * 14: JUMPDEST PUSH1 28 DUP3 DUP3 PUSH1 80 ADD CODECOPY    vault and token to out+80
 *     DUP1 PUSH1 80 ADD MLOAD PUSH1 60 SHR                 stack: vault
 *     DUP1 EXTCODESIZE DUP3 MSTORE                         answer: code size at out,
 *     DUP1 BALANCE DUP3 PUSH1 20 ADD MSTORE                native coin at out+20
 *     DUP2 PUSH1 94 ADD MLOAD PUSH1 60 SHR SWAP1           stack: vault, token
 *     PUSH4 70a08231 DUP4 PUSH1 a0 ADD MSTORE              question at out+bc: balanceOf(
 *     DUP3 PUSH1 c0 ADD MSTORE                             vault)
 *     PUSH1 20 DUP3 PUSH1 60 ADD PUSH1 24 DUP5 PUSH1 bc ADD
 *     DUP5 PUSH3 0f4240 STATICCALL                         balance at out+60, with 10^6 gas
 *     PUSH1 1f RETURNDATASIZE GT AND                       and whether it is one
 *     DUP3 PUSH1 40 ADD MSTORE POP                         at out+40
 *     PUSH1 80 ADD SWAP1 PUSH1 28 ADD SWAP1 PUSH1 0b JUMP  next
 */
const program: Hex = concat([
  "0x465f5242602052607060405b3882106014575ff35b6028828260800139806080015160601c",
  "0x803b825280318260200152816094015160601c906370a082318360a001528260c001526020",
  "0x8260600160248460bc0184620f4240fa601f3d11168260400152506080019060280190600b56",
]);

const headBytes = 64;
const holdingBytes = 128;

/**
 * What a creation answers is held to the bounds of code, 24,576 bytes at 200 gas each: 191
 * subjects. With proxied tokens this is 7 million gas, where nodes give a call 25 million and more.
 */
export const subjectsMax = 150;

/**
 * The holdings of `subjects`, in their order, at `block` by its hash: a node that has another block
 * there refuses.
 *
 * @throws {ChainUnavailable} when the node serves another chain or answers from another block
 */
export async function probeHoldings(
  chain: { chainId: number; rpc: ChainRpc },
  block: BlockReference,
  subjects: Holder[],
): Promise<Holding[]> {
  const parts: Holder[][] = [];
  for (let i = 0; i < subjects.length; i += subjectsMax) {
    parts.push(subjects.slice(i, i + subjectsMax));
  }
  return (await Promise.all(parts.map((part) => probePart(chain, block, part)))).flat();
}

async function probePart(
  { chainId, rpc }: { chainId: number; rpc: ChainRpc },
  block: BlockReference,
  subjects: Holder[],
): Promise<Holding[]> {
  const answer = await runAt(rpc, block, probeData(subjects));
  return holdingsIn(answer, { chainId, timestamp: block.timestamp, count: subjects.length });
}

/** Init code that asks for at most {@link subjectsMax}: to be called, without a `to`. */
export function probeData(subjects: readonly Holder[]): Hex {
  return concat([program, ...subjects.flatMap(({ vault, token }) => [vault, token])]);
}

/** @throws {ChainUnavailable} unless it is the answer for so many, at that chain and time */
export function holdingsIn(
  answer: Hex,
  { chainId, timestamp, count }: { chainId: number; timestamp: number; count: number },
): Holding[] {
  if (size(answer) !== headBytes + holdingBytes * count) {
    throw new ChainUnavailable(`the probe answered ${size(answer)} bytes`);
  }
  const word = (at: number) => hexToBigInt(sliceHex(answer, at, at + 32));
  const found = { chainId: Number(word(0)), timestamp: Number(word(32)) };
  if (found.chainId !== chainId) {
    throw new ChainUnavailable(`wanted a node of chain ${chainId}, found ${found.chainId}`);
  }
  if (found.timestamp !== timestamp) {
    throw new ChainUnavailable(`wanted time ${timestamp}, found ${found.timestamp}`);
  }
  return Array.from({ length: count }, (_, index) => {
    const at = headBytes + holdingBytes * index;
    return {
      codeBytes: Number(word(at)),
      native: word(at + 32),
      balance: word(at + 64) === 1n ? word(at + 96) : undefined,
    };
  });
}
