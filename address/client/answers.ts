// Checks the service's answers. A record is verified. Any other answer is checked against its
// schema (a "shape"). Unknown fields are accepted.

import { isSame } from "../abi/hex.ts";
import { describeValue, formatIssue, InvalidError } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { verifyRecord } from "../record.ts";
import {
  address,
  chainId,
  describeMisfit,
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
  /** A name for display. */
  symbol: text,
  /** The token contract. */
  address,
  /**
   * The number of decimal places of an amount.
   *
   * @maximum decimalsMax
   */
  decimals: integer(0, 255),
});

/** A chain on which addresses can be created. */
export const chain = object({
  chainId,
  /** A name for display. */
  name: text,
  /** @minItems 1 */
  tokens: list(token),
});

/** The chains and tokens for which addresses can be created now (spec §2.4). */
export const chainList = immutable(
  object({
    /** The PaymentFactory contract, which has the same address on every chain. */
    factory: address,
    chains: list(chain),
  }),
);
export type ChainList = TypeOf<typeof chainList>;

/**
 * Checks an answer against its schema.
 * @throws {UnprovenError} whose message contains `what`
 */
export function shaped<S extends Shape>(shape: S, answer: unknown, what: string): TypeOf<S> {
  const misfit = describeMisfit(shape, answer);
  if (!misfit) return answer as TypeOf<S>;
  throw new UnprovenError(`the response is not a valid ${what}: ${misfit}`);
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
    const [first] = error.issues;
    throw new UnprovenError(`expected a valid record of ${address}: ${formatIssue(first!)}`, {
      cause: error,
    });
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
export function proveStatus(answer: unknown, requested: Hex): ServiceStatus {
  return expectAddress(shaped(serviceStatus, answer, `status of ${requested}`), requested);
}

/** @throws {UnprovenError} */
export function proveSimulation(answer: unknown, requested: Hex): Simulation {
  return expectAddress(shaped(simulation, answer, `simulation of ${requested}`), requested);
}

/**
 * Checks that an answer has the requested ID.
 * @throws {UnprovenError} with both IDs
 */
export function expectId<T extends { readonly id: string }>(found: T, id: string, what: string): T {
  if (found.id === id) return found;
  throw new UnprovenError(`expected ${what} ${id}, found ${describeValue(found.id)}`);
}

/**
 * Checks that an answer is about the requested address.
 *
 * @throws {UnprovenError} with both addresses
 */
export function expectAddress<T extends { readonly address: Hex }>(found: T, requested: Hex): T {
  if (isSame(found.address, requested)) return found;
  throw new UnprovenError(`expected address ${requested}, found ${found.address}`);
}
