// The shapes of what the service answers: a program that reads a field gets what the type says,
// whoever answered. Fields that are not known pass.

import { addressStates } from "../status/shape.ts";
import { UnprovenError } from "./errors.ts";

/** @throws {UnprovenError} where `answer` has not the `shape`, naming `what` it should be */
export function shaped<T>(answer: unknown, shape: Shape, what: string): T {
  if (shape(answer)) return answer as T;
  throw new UnprovenError(`the answer is no ${what}`);
}

export type Shape = (value: unknown) => boolean;

export const text: Shape = (value) => typeof value === "string";
export const matching =
  (pattern: RegExp): Shape =>
  (value) =>
    typeof value === "string" && pattern.test(value);
export const among =
  (...values: readonly string[]): Shape =>
  (value) =>
    values.includes(value as string);
export const integer =
  (least: number, most = Number.MAX_SAFE_INTEGER): Shape =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
export const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null || shape(value);
export const list =
  (shape: Shape): Shape =>
  (value) =>
    Array.isArray(value) && value.every(shape);
export const object =
  (fields: Readonly<Record<string, Shape>>): Shape =>
  (value) =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(fields).every(
      ([name, shape]) =>
        Object.hasOwn(value, name) && shape((value as Record<string, unknown>)[name]),
    );

export const address = matching(/^0x[0-9a-f]{40}$/i);
export const hash = matching(/^0x[0-9a-f]{64}$/i);
export const amount = matching(/^(0|[1-9][0-9]{0,77})$/);
export const count = integer(0);

export const state = among(...addressStates);
export const block = object({ number: count, hash, timestamp: count });
export const logPlace = {
  transactionHash: hash,
  blockNumber: count,
  blockHash: hash,
  logIndex: count,
};
