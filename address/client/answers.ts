// What the service answers, proved where it can be and of the right shape where it cannot: a
// program that reads a field gets what the type says, whoever answered. Fields that are not known
// pass.

import { InvalidError, quoted } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { verifyRecord } from "../record.ts";
import type { AddressState, AddressStatus, ServiceStatus } from "../status/shape.ts";
import { UnprovenError } from "./errors.ts";
import type { AddressPage, EventPage, ListedAddress, ServiceEvent } from "./lists.ts";
import type { Trust } from "./options.ts";
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

/** @throws {UnprovenError} */
export function proveChains(answer: unknown, { factory }: Trust): ChainList {
  const named = (answer as ChainList | null)?.factory;
  if (!isSame(named, factory)) {
    const found = typeof named === "string" ? (quoted(named) ?? "other text") : "none";
    throw new UnprovenError(`wanted factory ${factory}, found ${found}`);
  }
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
export const proveAddressPage = (answer: unknown): AddressPage =>
  shaped(answer, addressPage, "page of addresses");

/** @throws {UnprovenError} */
export const proveEventPage = (answer: unknown): EventPage =>
  shaped(answer, eventPage, "page of events");

function ofAddress<T extends { readonly address: Hex }>(found: T, asked: Hex): T {
  if (isSame(found.address, asked)) return found;
  throw new UnprovenError(`the answer is of another address than ${asked}`);
}

const isSame = (found: unknown, wanted: Hex): boolean =>
  typeof found === "string" && found.toLowerCase() === wanted.toLowerCase();

function shaped<T>(answer: unknown, shape: Shape, what: string): T {
  if (shape(answer)) return answer as T;
  throw new UnprovenError(`the answer is no ${what}`);
}

type Shape = (value: unknown) => boolean;

const text: Shape = (value) => typeof value === "string";
const matching =
  (pattern: RegExp): Shape =>
  (value) =>
    typeof value === "string" && pattern.test(value);
const among =
  (...values: readonly string[]): Shape =>
  (value) =>
    values.includes(value as string);
const integer =
  (least: number, most = Number.MAX_SAFE_INTEGER): Shape =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null || shape(value);
const list =
  (shape: Shape): Shape =>
  (value) =>
    Array.isArray(value) && value.every(shape);
const object =
  (fields: Readonly<Record<string, Shape>>): Shape =>
  (value) =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(fields).every(
      ([name, shape]) =>
        Object.hasOwn(value, name) && shape((value as Record<string, unknown>)[name]),
    );

const address = matching(/^0x[0-9a-fA-F]{40}$/);
const hash = matching(/^0x[0-9a-fA-F]{64}$/);
const amount = matching(/^(0|[1-9][0-9]{0,77})$/);
const count = integer(0);

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

export const states: readonly AddressState[] = [
  "unfunded",
  "partially_funded",
  "funded",
  "executed",
  "expired",
  "recovered",
];
const state = among(...states);
const block = object({ number: count, hash, timestamp: count });
const event = { transactionHash: hash, blockNumber: count, blockHash: hash, logIndex: count };

const addressStatus = {
  address,
  state,
  chainId: integer(1),
  block,
  token: address,
  balance: amount,
  amount,
  expirationTimestamp: count,
  recoverable: list(object({ token: address, amount })),
  execution: orNull(object({ ...event, held: amount, left: amount })),
  recoveries: list(object({ ...event, token: address, amount })),
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

const time: Shape = (value) => typeof value === "string" && !Number.isNaN(Date.parse(value));

const addressPage = object({
  items: list(
    object({
      address,
      recordUrl: text,
      reference: orNull(text),
      createdAt: time,
      chainId: integer(1),
      token: address,
      amount,
      state,
      block: orNull(block),
      transactionHash: orNull(hash),
      settledAt: orNull(time),
    } satisfies Record<keyof ListedAddress, Shape>),
  ),
  next: orNull(text),
} satisfies Record<keyof AddressPage, Shape>);

const eventPage = object({
  items: list(
    object({
      id: text,
      type: matching(/^address\.[a-z_]+$/),
      timestamp: time,
      data: object({
        address,
        reference: orNull(text),
        sequence: integer(1),
        recordUrl: text,
        transactionHash: orNull(hash),
        status: object(addressStatus),
        recoveriesOmitted: count,
      } satisfies Record<keyof ServiceEvent["data"], Shape>),
    } satisfies Record<keyof ServiceEvent, Shape>),
  ),
  next: text,
  hasMore: (value) => typeof value === "boolean",
} satisfies Record<keyof EventPage, Shape>);
