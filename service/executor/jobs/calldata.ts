// Calls to the factory, put together from terms as they are. Terms begin with the offset 0x20 and
// go on with the intent's tuple, so they are the arguments of `execute`; a recovery carries the
// same tuple at another offset, a batch the calldata of both. Nothing is decoded and encoded again.

import type { Hex } from "executable-address";
import { concatHex, numberToHex, padHex, toFunctionSelector } from "viem";

const intentTuple =
  "(address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256)";
const executeSelector = toFunctionSelector(`execute(${intentTuple})`);
const recoverSelector = toFunctionSelector(`recover(${intentTuple},address[])`);
const batchSelector = toFunctionSelector("batch(bytes[])");
const transferSelector = toFunctionSelector("transfer(address,uint256)");
const balanceOfSelector = toFunctionSelector("balanceOf(address)");

/** The zero address, which stands for the native coin where tokens are listed. */
export const nativeCoin: Hex = `0x${"00".repeat(20)}`;

export function executeCalldata(terms: Hex): Hex {
  return concatHex([executeSelector, terms]);
}

/** @param tokens {@link nativeCoin} for the native coin. They stand right behind the tuple. */
export function recoverCalldata(terms: Hex, tokens: readonly Hex[]): Hex {
  const tuple = tupleOf(terms);
  return concatHex([
    recoverSelector,
    word(64),
    word(64 + byteLength(tuple)),
    tuple,
    word(tokens.length),
    ...tokens.map((token) => padHex(token, { size: 32 })),
  ]);
}

/** @param items calldata of `execute` or `recover` */
export function batchCalldata(items: readonly Hex[]): Hex {
  const tails = items.map((item) => {
    const length = byteLength(item);
    const rest = "00".repeat(padded(length) - length);
    return concatHex([word(length), `${item}${rest}`]);
  });
  const offsets: Hex[] = [];
  let offset = 32 * tails.length;
  for (const tail of tails) {
    offsets.push(word(offset));
    offset += byteLength(tail);
  }
  return concatHex([batchSelector, word(32), word(tails.length), ...offsets, ...tails]);
}

/** The terms that each item of a batch is about, in order; none where `data` is no batch. */
export function termsOfBatch(data: Hex): Hex[] {
  if (!data.startsWith(batchSelector)) return [];
  const at = (byte: number) => 2 + 2 * (4 + byte);
  const count = wordAt(data, at(32));
  return Array.from({ length: count }, (_, i) => {
    const start = at(64 + wordAt(data, at(64 + 32 * i)));
    const length = wordAt(data, start);
    return termsOf(`0x${data.slice(start + 64, start + 64 + 2 * length)}`);
  });
}

function termsOf(item: Hex): Hex {
  const args = item.slice(10);
  if (item.startsWith(executeSelector)) return `0x${args}`;
  return `${word(32)}${args.slice(2 * 64, 2 * wordAt(args, 64))}`;
}

export function transferCalldata(to: Hex, amount: bigint): Hex {
  return concatHex([transferSelector, padHex(to, { size: 32 }), word(amount)]);
}

export function balanceOfCalldata(owner: Hex): Hex {
  return concatHex([balanceOfSelector, padHex(owner, { size: 32 })]);
}

export function byteLength(hex: Hex): number {
  return (hex.length - 2) / 2;
}

function tupleOf(terms: Hex): Hex {
  return `0x${terms.slice(2 + 64)}`;
}

function padded(length: number): number {
  return Math.ceil(length / 32) * 32;
}

/** The word whose hex digits begin at `digit`. */
function wordAt(hex: string, digit: number): number {
  return Number(BigInt(`0x${hex.slice(digit, digit + 64)}`));
}

function word(value: number | bigint): Hex {
  return numberToHex(value, { size: 32 });
}
