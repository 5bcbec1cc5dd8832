// Calls to the factory, put together from terms as they are. Terms begin with the offset 0x20 and
// go on with the intent's tuple, so they are the arguments of `execute`; a batch and a recovery
// carry the same tuple at another offset. Nothing is decoded and encoded again on the way.

import type { Hex } from "executable-address";
import { concatHex, numberToHex, padHex, toFunctionSelector } from "viem";

const intentTuple =
  "(address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256)";
const executeSelector = toFunctionSelector(`execute(${intentTuple})`);
const executeBatchSelector = toFunctionSelector(`executeBatch(${intentTuple}[])`);
const recoverSelector = toFunctionSelector(`recover(${intentTuple},address[])`);
const transferSelector = toFunctionSelector("transfer(address,uint256)");
const balanceOfSelector = toFunctionSelector("balanceOf(address)");

/** The zero address, which stands for the native coin where tokens are listed. */
export const nativeCoin: Hex = `0x${"00".repeat(20)}`;

export function executeCalldata(terms: Hex): Hex {
  return concatHex([executeSelector, terms]);
}

/** The factory takes each tuple from its start to the next one's, so they follow one another. */
export function executeBatchCalldata(terms: readonly Hex[]): Hex {
  const tuples = terms.map(tupleOf);
  const offsets: Hex[] = [];
  let offset = 32 * tuples.length;
  for (const tuple of tuples) {
    offsets.push(word(offset));
    offset += byteLength(tuple);
  }
  return concatHex([executeBatchSelector, word(32), word(tuples.length), ...offsets, ...tuples]);
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

function word(value: number | bigint): Hex {
  return numberToHex(value, { size: 32 });
}
