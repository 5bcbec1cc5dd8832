// Checks what the service answers: it is proved where it can be, and of the right shape where it
// cannot, so that a program that reads a field gets what the type says. Unknown fields pass.

import { InvalidError, plainOf } from "../errors.ts";
import { isSame } from "../hex.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { makeRecord, verifyRecord } from "../record.ts";
import type { AddressStatus, ServiceStatus } from "../status/shape.ts";
import type { Check, Finding, Note } from "./check.ts";
import { UnprovenError } from "./errors.ts";
import type { Trust } from "./options.ts";
import {
  address,
  among,
  amount,
  block,
  count,
  hash,
  integer,
  list,
  logPlace,
  matching,
  object,
  orNull,
  type Shape,
  shaped,
  state,
  text,
} from "./shape.ts";
import type { Simulation } from "./simulation.ts";

/** spec §2.4. `decimals`: how many digits of an amount are behind the point. */
export type ChainList = {
  readonly factory: Hex;
  readonly chains: readonly {
    readonly chainId: number;
    readonly name: string;
    readonly tokens: readonly {
      readonly symbol: string;
      readonly address: Hex;
      readonly decimals: number;
    }[];
  }[];
};

/** @throws {UnprovenError} */
export function proveRecord(answer: unknown, address: Hex, trust: Trust): AddressRecord {
  try {
    return verifyRecord(answer, { ...trust, address });
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    throw new UnprovenError(`the answer does not prove ${address}`, { cause: error });
  }
}

/** The record of `wanted` with a salt that the service made. @throws {UnprovenError} */
export function proveSalted(
  answer: unknown,
  wanted: Omit<Intent, "salt">,
  trust: Trust,
): AddressRecord {
  const salt = (answer as { intent?: { salt?: Hex } } | null)?.intent?.salt;
  if (typeof salt !== "string" || !/^0x[0-9a-f]{64}$/.test(salt))
    throw new UnprovenError(`salt: wanted 32 bytes of hex, found ${plainOf(salt)}`);
  const { address } = makeRecord({ ...wanted, salt }, trust);
  return proveRecord(answer, address, trust);
}

/** @throws {UnprovenError} */
export function proveChains(answer: unknown, { factory }: Trust): ChainList {
  const named = (answer as ChainList | null)?.factory;
  if (typeof named !== "string" || !isSame(named, factory))
    throw new UnprovenError(`wanted factory ${factory}, found ${plainOf(named)}`);
  return shaped(answer, chainList, "chain list");
}

/** @throws {UnprovenError} */
export function proveStatus(answer: unknown, asked: Hex): ServiceStatus {
  return ofAddress(shaped<ServiceStatus>(answer, status, `status of ${asked}`), asked);
}

/** @throws {UnprovenError} */
export function proveSimulation(answer: unknown, asked: Hex): Simulation {
  return ofAddress(shaped<Simulation>(answer, simulation, `simulation of ${asked}`), asked);
}

/** @throws {UnprovenError} */
export function proveCheck(answer: unknown, address: Hex, trust: Trust): Check {
  const found = shaped<Check>(answer, check, "check");
  proveRecord(found.record, address, trust);
  ofAddress(found.simulation, address);
  return found;
}

/** @throws {UnprovenError} with both ids, where `found` has not the `id` that was asked for */
export function ofId<T extends { readonly id: string }>(found: T, id: string, what: string): T {
  if (found.id === id) return found;
  throw new UnprovenError(`wanted ${what} ${id}, found ${plainOf(found.id)}`);
}

/** @throws {UnprovenError} with both addresses */
export function ofAddress<T extends { readonly address: Hex }>(found: T, asked: Hex): T {
  if (isSame(found.address, asked)) return found;
  throw new UnprovenError(`wanted address ${asked}, found ${found.address}`);
}

const chainList = object({
  factory: address,
  chains: list(
    object({
      chainId: integer(1),
      name: text,
      tokens: list(object({ symbol: text, address, decimals: integer(0, 255) })),
    }),
  ),
});

export const addressStatus = {
  address,
  state,
  chainId: integer(1),
  block,
  token: address,
  balance: amount,
  amount,
  expirationTimestamp: count,
  recoverable: list(object({ token: address, amount })),
  execution: orNull(object({ ...logPlace, held: amount, left: amount })),
  recoveries: list(object({ ...logPlace, token: address, amount })),
} satisfies Record<keyof AddressStatus, Shape>;

const status = object({
  ...addressStatus,
  executor: orNull(
    object({
      purpose: orNull(among("execute", "recover")),
      phase: among("waiting", "sent", "given_up"),
      transactionHash: orNull(hash),
      attempts: count,
      reason: orNull(text),
    }),
  ),
  settledAt: orNull(count),
  explorer: orNull(matching(/^https?:\/\//)),
  strays: orNull(list(object({ token: address, amount }))),
} satisfies Record<keyof ServiceStatus, Shape>);

const simulation = object({
  address,
  chainId: integer(1),
  block,
  state,
  outcome: among("succeeds", "fails", "impossible", "unknown"),
  reason: orNull(text),
  failedCall: orNull(count),
  fundingAssumed: (value) => typeof value === "boolean",
  gasUsed: orNull(count),
  changes: list(
    object({
      account: address,
      roles: list(among("vault", "recovery", "target", "named")),
      token: address,
      symbol: orNull(text),
      decimals: orNull(integer(0, 255)),
      change: matching(/^-?[1-9][0-9]{0,77}$/),
    }),
  ),
  scope: orNull(among("transfers", "intent")),
  unmeasured: count,
} satisfies Record<keyof Simulation, Shape>);

const fieldName = matching(/^[A-Za-z]{1,64}$/);

const path = list((value) => fieldName(value) || count(value));
const code = matching(/^[a-z0-9_]{1,64}$/);

const note = object({ path, code, message: text } satisfies Record<keyof Note, Shape>);

const check = object({
  record: (value) => typeof value === "object",
  simulation,
  findings: list(
    object({
      ...{ path, code, message: text, cure: text },
    } satisfies Record<keyof Finding, Shape>),
  ),
  notes: list(note),
} satisfies Record<keyof Check, Shape>);
