// Whether endpoints say the same: blocks are compared by what is read of them, since nodes differ
// in the fields they add.

import { type Answer, blockOf } from "./json-rpc.ts";

/** The same text for answers that say the same; undefined where there is nothing to compare. */
export function textOf(method: string, answer: Answer): string | undefined {
  if (!("result" in answer)) return undefined;
  const { result } = answer;
  try {
    if (method === "eth_getBlockByNumber") return JSON.stringify(blockOf(result), plain);
  } catch {
    // An answer that is no block is compared as it is.
  }
  return JSON.stringify(result).toLowerCase();
}

const plain = (_key: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);

/**
 * Finds the value that `quorum` of `votes` have, or all of them where there are fewer; votes
 * without a value are not counted. @returns its places; undefined where no value has so many
 */
export function agreed(votes: readonly (string | undefined)[], quorum: number) {
  const places = new Map<string, number[]>();
  votes.forEach((vote, place) => {
    if (vote !== undefined) places.set(vote, [...(places.get(vote) ?? []), place]);
  });
  const [most, next] = [...places.values()].sort((a, b) => b.length - a.length);
  if (!most || !next) return most;
  return most.length >= quorum && most.length > next.length ? most : undefined;
}

/** The middle of several, or the lower of two in the middle: no single one decides. */
export const middle = (values: readonly bigint[]): bigint | undefined =>
  ascending(values)[Math.floor((values.length - 1) / 2)];

/** The middle of several, or the higher of two in the middle. */
export const upperMiddle = (values: readonly bigint[]): bigint | undefined =>
  ascending(values)[Math.floor(values.length / 2)];

const ascending = (values: readonly bigint[]) => values.toSorted((a, b) => (a < b ? -1 : 1));

/**
 * Reads each endpoint's answer number `place`; those that cannot be read are left out.
 */
export function saidBy<Value>(
  lists: readonly (readonly Answer[] | undefined)[],
  place: number,
  read: (result: unknown) => Value | undefined,
): Value[] {
  return lists.flatMap((list) => {
    const answer = list?.[place];
    try {
      const value = answer && "result" in answer ? read(answer.result) : undefined;
      return value === undefined ? [] : [value];
    } catch {
      return [];
    }
  });
}
