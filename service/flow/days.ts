// Converts times to days and texts. Days and hours are in UTC, counted from the Unix epoch.

import { z } from "zod";

export const hourSeconds = 3600;
export const daySeconds = 24 * hourSeconds;
export const hourMs = 1000 * hourSeconds;
export const dayMs = 1000 * daySeconds;

export const toIso = (ms: number): string => new Date(ms).toISOString();
export const toIsoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms));

/** Returns the day of a time in Unix seconds. */
export function dayOf(seconds: number): number {
  return Math.floor(seconds / daySeconds);
}

/** Returns the Unix time, in seconds, at which the UTC day of `seconds` ends. */
export function midnightAfter(seconds: number): number {
  return (dayOf(seconds) + 1) * daySeconds;
}

/** Formats a day number as a date, such as `2026-11-22`. */
export const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

const wantedTime = "expected a time with Z or a UTC offset, such as 2027-01-31T00:00:00Z";

/** Converts an ISO 8601 time to Unix milliseconds. The time must end with a UTC offset or `Z`. */
export const timeInput = z.iso
  .datetime({ offset: true, error: wantedTime })
  .transform((text) => Date.parse(text));
