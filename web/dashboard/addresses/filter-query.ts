// The filter of the list as it is typed, in the page's URL, and as the server is asked.

import type { AddressFilter } from "./api.ts";

/** The filter as typed and chosen; days are of this browser's time zone. */
export type Typed = { text: string; token: string; state: string; from: string; until: string };
export const untyped: Typed = { text: "", token: "", state: "", from: "", until: "" };

export const readTyped = (query: URLSearchParams): Typed =>
  Object.fromEntries(
    Object.keys(untyped).map((name) => [name, query.get(name) ?? ""]),
  ) as unknown as Typed;

/** The beginning of an address is enough to find it. */
const beginningPattern = /^0x[0-9a-fA-F]{0,40}$/;

/** Whether an address is meant, whole or not. */
export const meansAddress = (text: string) => text.startsWith("0x");
export const isBeginning = (text: string) => beginningPattern.test(text);

/** Asks for an address alone with a token, or for anything else together. */
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

/** Midnight here at the start of `day` (`2026-11-22`), or so many days later. */
function toDayStart(day: string, daysLater: number): string {
  const [year, month, date] = day.split("-").map(Number);
  if (!year || !month || !date) return "";
  return new Date(year, month - 1, date + daysLater).toISOString();
}
