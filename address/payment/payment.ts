// `executable-address/payment`: formats amounts, addresses, and shop names for people. The payment
// page, the element, link previews, and shops use this module.

import type { AddressRecord } from "../intent/intent.ts";

export {
  chainNameMax,
  decimalsMax,
  hasHidden,
  inertPieces,
  inertText,
  isName,
  symbolMax,
} from "./inert.ts";
export { partiesOf } from "./parties.ts";
export * from "./shop-link.ts";

/**
 * Formats a transfer of `amount` to the address as an ERC-681 link. The first address in the link
 * is the token. Some wallets pay that address, so no page shows this link by default.
 *
 * @param amount base units, decimal
 */
export function paymentLink({ address, intent }: AddressRecord, amount: string): string {
  return `ethereum:${intent.token}@${intent.chainId}/transfer?address=${address}&uint256=${amount}`;
}

/** Returns, in base units, the amount that remains to be paid, or "0". */
export function owed(amount: string, balance: string): string {
  const left = BigInt(amount) - BigInt(balance);
  return (left > 0n ? left : 0n).toString();
}

/**
 * Formats base units for people: "1500000" with 6 decimals is "1.5". Never rounds. A comma or a
 * point separates thousands in some countries and decimals in others. `formatUnits` therefore
 * separates thousands with a thin space. It adds a zero to 1.234, because 1.2340 cannot be read as
 * 1,234.
 */
export function formatUnits(amount: string, decimals: number): string {
  const { whole, part } = splitUnits(amount, decimals);
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, thinSpace);
  if (part === "") return grouped;
  return `${grouped}.${part.length === 3 ? `${part}0` : part}`;
}

/** U+202F, which does not break a line. */
const thinSpace = "\u202f";

/** Formats base units without grouping for a wallet's amount field: "1234.5". */
export function plainUnits(amount: string, decimals: number): string {
  const { whole, part } = splitUnits(amount, decimals);
  return part === "" ? whole : `${whole}.${part}`;
}

function splitUnits(amount: string, decimals: number) {
  const digits = amount.padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  return { whole: digits.slice(0, point), part: digits.slice(point).replace(/0+$/, "") };
}

/**
 * Shortens an address to "0xB9BD…41fe…99c9", for comparison with a wallet's display. An attacker
 * can easily find an address with the same beginning and end. The text therefore also shows four
 * characters from the middle.
 */
export const shortAddress = (address: string): string =>
  `${address.slice(0, 6)}…${address.slice(20, 24)}…${address.slice(-4)}`;

/** Splits the 40 characters into ten groups of four for comparison. */
export const addressGroups = (address: string): string[] => address.slice(2).match(/.{4}/g) ?? [];
