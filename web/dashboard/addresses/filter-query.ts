// Converts the list's filter between the form, the URL of the page, and the request.

import type { AddressFilter } from "./api.ts";

/** The filter as entered by the user. Dates are in the browser's time zone. */
export type Typed = { text: string; token: string; state: string; from: string; until: string };
export const untyped: Typed = { text: "", token: "", state: "", from: "", until: "" };

export const readTyped = (query: URLSearchParams): Typed =>
  Object.fromEntries(
    Object.keys(untyped).map((name) => [name, query.get(name) ?? ""]),
  ) as unknown as Typed;

/** Matches an address or its first characters. */
const beginningPattern = /^0x[0-9a-fA-F]{0,40}$/;

/** Returns whether the text means an address, and not a reference. */
export const meansAddress = (text: string) => text.startsWith("0x");
export const isBeginning = (text: string) => beginningPattern.test(text);

/**
 * Converts the form to the filter of a request. If the text starts with `0x`, the filter contains
 * only the token and the address. The filter's address is empty if the text cannot be the beginning
 * of an address. Any other text is a part of a reference. The filter then contains all fields
 * except the address.
 */
export function toFilter({ text, token, state, from, until }: Typed): AddressFilter {
  const typed = text.trim();
  const none = { address: "", referenceContains: "", state: "", createdFrom: "", createdUntil: "" };
  if (meansAddress(typed)) return { ...none, token, address: isBeginning(typed) ? typed : "" };
  return {
    ...{ ...none, token, state, referenceContains: typed },
    createdFrom: toDayStart(from, 0),
    createdUntil: toDayStart(until, 1),
  };
}

/**
 * Returns the start, in local time, of the day that is `daysLater` days after `day`. `day` is a
 * date such as `2026-11-22`. Returns an empty text if `day` is empty.
 */
function toDayStart(day: string, daysLater: number): string {
  const [year, month, date] = day.split("-").map(Number);
  if (!year || !month || !date) return "";
  return new Date(year, month - 1, date + daysLater).toISOString();
}
