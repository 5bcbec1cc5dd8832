// `executable-address/payment`: how amounts, addresses and names of shops are written for people,
// in the payment page, the element, link previews and a shop's own pages.

import type { AddressRecord } from "../intent/intent.ts";

export { hasHidden, inertPieces, inertText, isName } from "./inert.ts";
export * from "./shop-link.ts";

/**
 * A transfer of `amount` to the address, as ERC-681 has it. Its first address is the token: a
 * wallet that takes the first address it finds pays the token contract, so this is never the
 * default.
 *
 * @param amount base units, decimal
 */
export function paymentLink({ address, intent }: AddressRecord, amount: string): string {
  return `ethereum:${intent.token}@${intent.chainId}/transfer?address=${address}&uint256=${amount}`;
}

/** The amount still to be paid, in base units: "0" once it is enough. */
export function owed(amount: string, balance: string): string {
  const left = BigInt(amount) - BigInt(balance);
  return (left > 0n ? left : 0n).toString();
}

/**
 * Base units as a person reads them: "1500000" with 6 decimals is "1.5". Never rounds. A comma and
 * a point mean the other thing in another country, so thousands are set apart by a thin space, and
 * no amount has exactly three decimals: 1.234 is written as 1.2340.
 */
export function formatUnits(amount: string, decimals: number): string {
  const { whole, part } = splitUnits(amount, decimals);
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, thinSpace);
  if (part === "") return grouped;
  return `${grouped}.${part.length === 3 ? `${part}0` : part}`;
}

/** U+202F: a line does not break there. */
const thinSpace = "\u202f";

/** The same without grouping, as a wallet's amount field takes it: "1234.5". */
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
 * "0xB9BD…41fe…99c9": enough to compare with what a wallet shows, never enough to pay by. An
 * address with the same two ends costs a forger pennies, so a group of the middle is shown too.
 */
export const shortAddress = (address: string): string =>
  `${address.slice(0, 6)}…${address.slice(20, 24)}…${address.slice(-4)}`;

/** The 40 characters in ten groups of four, as people compare them. */
export const addressGroups = (address: string): string[] => address.slice(2).match(/.{4}/g) ?? [];
