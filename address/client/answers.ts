// Checks what the service answers: it is proved where it can be, and of the right shape where it
// cannot, so that a program that reads a field gets what the type says. Unknown fields pass.

import { isSame } from "../abi/hex.ts";
import { describeValue, InvalidError } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { verifyRecord } from "../record.ts";
import {
  address,
  chainId,
  fits,
  immutable,
  integer,
  list,
  object,
  type Shape,
  type TypeOf,
  text,
} from "../shape.ts";
import { type ServiceStatus, serviceStatus } from "../status/shape.ts";
import { UnprovenError } from "./errors.ts";
import type { Trust } from "./options.ts";
import { type Simulation, simulation } from "./simulation.ts";

/** A token that an intent can use. */
export const token = object({
  /** For display. */
  symbol: text,
  /** The token contract. */
  address,
  /**
   * The number of digits of an amount after the decimal point.
   *
   * @maximum 36
   */
  decimals: integer(0, 255),
});

/** A chain on which addresses can be created. */
export const chain = object({
  chainId,
  /** For display. */
  name: text,
  /** @minItems 1 */
  tokens: list(token),
});

/** The chains and tokens on which addresses can be created now: spec §2.4. */
export const chainList = immutable(
  object({
    /** The PaymentFactory, which has the same address on every chain. */
    factory: address,
    chains: list(chain),
  }),
);
export type ChainList = TypeOf<typeof chainList>;

/** @throws {UnprovenError} if `answer` does not have the `shape`, naming `what` it should be */
export function shaped<S extends Shape>(shape: S, answer: unknown, what: string): TypeOf<S> {
  if (fits(shape, answer)) return answer;
  throw new UnprovenError(`the answer is no ${what}`);
}

/** @throws {UnprovenError} */
export function proveRecord(
  answer: unknown,
  address: Hex,
  trust: Pick<Trust, "factory"> & Partial<Trust>,
): AddressRecord {
  try {
    return verifyRecord(answer, { ...trust, address });
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    throw new UnprovenError(`the answer does not prove ${address}`, { cause: error });
  }
}

/** @throws {UnprovenError} */
export function proveChains(answer: unknown, { factory }: Trust): ChainList {
  const named = (answer as ChainList | null)?.factory;
  if (typeof named !== "string" || !isSame(named, factory))
    throw new UnprovenError(`expected factory ${factory}, found ${describeValue(named)}`);
  return shaped(chainList, answer, "chain list");
}

/** @throws {UnprovenError} */
export function proveStatus(answer: unknown, asked: Hex): ServiceStatus {
  return ofAddress(shaped(serviceStatus, answer, `status of ${asked}`), asked);
}

/** @throws {UnprovenError} */
export function proveSimulation(answer: unknown, asked: Hex): Simulation {
  return ofAddress(shaped(simulation, answer, `simulation of ${asked}`), asked);
}

/** @throws {UnprovenError} with both ids, where `found` has not the `id` that was asked for */
export function ofId<T extends { readonly id: string }>(found: T, id: string, what: string): T {
  if (found.id === id) return found;
  throw new UnprovenError(`expected ${what} ${id}, found ${describeValue(found.id)}`);
}

/** @throws {UnprovenError} with both addresses */
export function ofAddress<T extends { readonly address: Hex }>(found: T, asked: Hex): T {
  if (isSame(found.address, asked)) return found;
  throw new UnprovenError(`expected address ${asked}, found ${found.address}`);
}
