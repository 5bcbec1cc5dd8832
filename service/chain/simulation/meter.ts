// Balances before and after one call, in one eth_call: a program sent as the init code of a
// creation that never happens, as in status-probe.ts, so that it needs nothing on the chain. The
// balances are what each token answers when it is asked; nothing here believes a log.

import type { Hex } from "executable-address";
import { concat, hexToBigInt, size, sliceHex } from "viem";
import { ChainUnavailable } from "../rpc/json-rpc.ts";
import { assemble, type Part } from "./assemble.ts";

/** `token`: the zero address asks for the native coin. */
export type Pair = { account: Hex; token: Hex };

/** Of a pair; undefined where the token did not answer with a word. */
export type Balance = bigint | undefined;

export type Measured = {
  chainId: number;
  /** Of the block it ran in, Unix seconds. */
  timestamp: number;
  /** What was left when the call began. */
  gas: bigint;
  succeeded: boolean;
  /** The first 512 bytes of what the call returned, or reverted with. */
  answer: Hex;
  /** In the order of the pairs. */
  before: Balance[];
  after: Balance[];
};

/** A creation answers at most 24,576 bytes, and the balances must fit a node's gas: 10 million. */
export const pairsMax = 100;
/** A transaction has at most 2^24 since EIP-7825; nodes give an eth_call 30 million and more. */
export const callGas = 15_000_000;
/** For one balance: Circle's proxied tokens take 10,000. One that burns it all answers nothing. */
const balanceGas = 50_000;

const headBytes = 160;
const entryBytes = 64;
const pairBytes = 40;
const answerBytesMax = 512;

/**
 * In memory: chain id at 0, time at 20, gas at 40, success at 60, bytes answered at 80; a flag and
 * a balance for each pair before, and again after; the answer. Behind it, what is worked with.
 *
 * @param pairs at most {@link pairsMax}
 * @returns code that calls `target` with `data` and answers what {@link readMeter} reads
 */
export function meterCode(pairs: readonly Pair[], target: Hex, data: Hex): Hex {
  const { before, after, answer, end } = layout(pairs.length);
  const input = end + 256;
  const behindPairs = { of: "pairs", plus: pairBytes * pairs.length };
  const program: Part[] = [
    "465f52", // CHAINID PUSH0 MSTORE
    "42602052", // TIMESTAMP PUSH1 20 MSTORE
    ...balances("before", before, end, behindPairs),
    ...[size(data), behindPairs, input, "39"], // CODECOPY: data to memory
    "5a604052", // GAS PUSH1 40 MSTORE
    ...["5f5f", size(data), input, "5f73", target.slice(2), callGas, "f1"], // CALL, no value
    "606052", // PUSH1 60 MSTORE
    "3d608052", // RETURNDATASIZE PUSH1 80 MSTORE
    "3d610200", // RETURNDATASIZE PUSH2 200
    ...["811115", { of: "fits" }, "57"], // DUP2 GT ISZERO, JUMPI: at most as much
    "50610200", // POP PUSH2 200
    ...[{ at: "fits" }, "5b5f", answer, "3e"], // JUMPDEST PUSH0, RETURNDATACOPY
    ...balances("after", after, end, behindPairs),
    ...[end, "5ff3"], // PUSH0 RETURN
    { at: "pairs" },
  ];
  return concat([assemble(program), ...pairs.flatMap((p) => [p.account, p.token]), data]);
}

/** Asks each pair's balance, to memory from `to` on. `scratch`: the pair, then the question. */
function balances(name: string, to: number, scratch: number, behindPairs: Part): Part[] {
  const question = scratch + 96;
  const [next, token, stored, done] = ["next", "token", "stored", "done"].map((n) => name + n);
  return [
    ...[to, { of: "pairs" }], // stack: in, out
    ...[{ at: next! }, "5b80", behindPairs, "14", { of: done! }, "57"], // DUP1 EQ, JUMPI
    ...["602881", scratch, "39"], // PUSH1 28 DUP2, CODECOPY
    ...[scratch, "5160601c", scratch + 20, "5160601c"], // MLOAD PUSH1 60 SHR: token, account
    ...["80", { of: token! }, "57"], // DUP1, JUMPI
    "5031826020015260018252", // POP BALANCE DUP3 PUSH1 20 ADD MSTORE, PUSH1 1 DUP3 MSTORE
    ...[{ of: stored! }, "56"], // JUMP
    ...[{ at: token! }, "5b6370a08231", question - 28, "52"], // balanceOf( to the question
    ...["90", question + 4, "52"], // SWAP1, MSTORE: the account
    "6020836020016024", // PUSH1 20, DUP4 PUSH1 20 ADD, PUSH1 24: the answer's place, the question's
    ...[question, "84", balanceGas, "fa"], // DUP5, STATICCALL
    "601f3d1116", // PUSH1 1f RETURNDATASIZE GT AND: and it is a word
    "835250", // DUP4 MSTORE POP
    ...[{ at: stored! }, "5b6028019060400190", { of: next! }, "56"], // to the next pair
    ...[{ at: done! }, "5b5050"],
  ];
}

function layout(count: number) {
  const after = headBytes + entryBytes * count;
  const answer = after + entryBytes * count;
  return { before: headBytes, after, answer, end: answer + answerBytesMax };
}

/**
 * @param count of the pairs
 * @throws {ChainUnavailable} when it is not what {@link meterCode} answers
 */
export function readMeter(answered: Hex, count: number): Measured {
  const { before, after, answer, end } = layout(count);
  if (size(answered) !== end)
    throw new ChainUnavailable(`the meter answered ${size(answered)} bytes`);
  const word = (at: number) => hexToBigInt(sliceHex(answered, at, at + 32));
  const entries = (from: number) =>
    Array.from({ length: count }, (_, index): Balance => {
      const at = from + entryBytes * index;
      return word(at) === 1n ? word(at + 32) : undefined;
    });
  const answerBytes = Math.min(Number(word(128)), answerBytesMax);
  return {
    chainId: Number(word(0)),
    timestamp: Number(word(32)),
    gas: word(64),
    succeeded: word(96) === 1n,
    answer: answerBytes === 0 ? "0x" : sliceHex(answered, answer, answer + answerBytes),
    before: entries(before),
    after: entries(after),
  };
}
