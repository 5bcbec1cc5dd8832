// Exponential backoff: how long to wait after the same thing was tried several times.

/**
 * Returns how long to wait after attempt number `attempt`, from 1. The wait doubles with each
 * attempt, from `first` to `longest`, all in one unit.
 */
export const backoff = (attempt: number, first: number, longest: number): number =>
  Math.min(longest, first * 2 ** Math.min(attempt - 1, 30));
