// Finds where a token stores balances, so that a simulation can fund an address. For each known
// storage layout, a state override puts a different number at the balance's slot. The balance that
// the token then returns shows which layout it uses.

import { encodeBalanceOf, type Hex } from "executable-address";
import type { BlockReference } from "executable-address/status";
import { concat, hexToBigInt, keccak256, numberToHex, pad, size, sliceHex } from "viem/utils";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { callAt, type StateOverrides } from "../rpc/chain-rpc.ts";
import { isRefusal } from "../rpc/json-rpc.ts";

/** Returns the slot of an owner's balance. */
type Layout = (owner: Hex) => Hex;

const mapping =
  (slot: bigint | Hex): Layout =>
  (owner) =>
    keccak256(
      concat([pad(owner), typeof slot === "bigint" ? numberToHex(slot, { size: 32 }) : slot]),
    );
/** Vyper hashes the slot before the key. */
const vyperMapping =
  (slot: bigint): Layout =>
  (owner) =>
    keccak256(concat([numberToHex(slot, { size: 32 }), pad(owner)]));
/** Solady hashes the owner, eight zero bytes, and a seed. */
const solady: Layout = (owner) => keccak256(concat([owner, "0x000000000000000087a211a2"]));
/**
 * Upgradeable tokens of OpenZeppelin 5 use the namespace `openzeppelin.storage.ERC20` (ERC-7201).
 */
const namespaced = mapping("0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00");

/**
 * DAI, USDT, USDC, and most other tokens use one of the first ten slots. Upgradeable tokens of
 * OpenZeppelin 4 use slot 51.
 */
const slots = [...Array.from({ length: 16 }, (_, slot) => BigInt(slot)), 51n, 101n, 151n];
const layouts: readonly Layout[] = [
  ...slots.map(mapping),
  ...slots.slice(0, 16).map(vyperMapping),
  solady,
  namespaced,
];

/**
 * The number that is stored at the slot of the first layout. Each further layout gets the next
 * number. A real balance is very unlikely to be one of these numbers. If a real balance equals one
 * of these numbers, this search finds a wrong layout. The caller then measures a wrong balance and
 * notices the error.
 */
const firstMark = 0x5eed_0000n;

/**
 * Returns state overrides that set the token balance of `owner` to `amount`. The caller must check
 * the result, because a token can compute balances from several values.
 *
 * @returns undefined if the token's layout is unknown or the node does not support overrides
 */
export async function findFunding(
  rpc: ChainRpc,
  block: BlockReference,
  { token, owner, amount }: { token: Hex; owner: Hex; amount: bigint },
): Promise<StateOverrides | undefined> {
  const marks = layouts.map((layout, index) => [
    layout(owner),
    numberToHex(firstMark + BigInt(index), { size: 32 }),
  ]);
  const marked: StateOverrides = { [token]: { stateDiff: Object.fromEntries(marks) } };
  const data = encodeBalanceOf(owner);
  let answer: Hex;
  try {
    answer = await callAt(rpc, block, { to: token, data }, marked);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
  if (size(answer) < 32) return undefined;
  const layout = layouts[Number(hexToBigInt(sliceHex(answer, 0, 32)) - firstMark)];
  if (!layout) return undefined;
  return { [token]: { stateDiff: { [layout(owner)]: numberToHex(amount, { size: 32 }) } } };
}
