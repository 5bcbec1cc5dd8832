// The form of a status: what an address is and has done, as its chain shows it at one block.

import type { Hex } from "../intent/intent.ts";

/**
 * - `unfunded`, `partially_funded`, `funded`: open, holding nothing, some, or enough to execute now
 * - `executed`: the calls ran; for good, whatever the vault received or returned since
 * - `expired`: past `expirationTimestamp`, never executed, not yet closed by a recovery
 * - `recovered`: closed by a recovery after it expired; the calls can never run
 */
export const addressStates = [
  "unfunded",
  "partially_funded",
  "funded",
  "executed",
  "expired",
  "recovered",
] as const;
export type AddressState = (typeof addressStates)[number];

/** Whether the calls may still run. */
export const isOpenState = (state: AddressState): boolean =>
  state === "unfunded" || state === "partially_funded" || state === "funded";

/** `timestamp` in Unix seconds, by the chain's clock. */
export type BlockReference = { number: number; hash: Hex; timestamp: number };

/** `amount` in base units of `token`, decimal; the zero address stands for the native coin. */
export type TokenAmount = { token: Hex; amount: string };

/** The place of an event; `logIndex` counts within the block. */
export type EventReference = {
  transactionHash: Hex;
  blockNumber: number;
  blockHash: Hex;
  logIndex: number;
};

/** `held` and `left`: the vault's balance of the intent's token before and after its calls. */
export type Execution = EventReference & { held: string; left: string };

/** One token that went to the intent's `recovery`: as much as the factory measured. */
export type Recovery = EventReference & TokenAmount;

/**
 * A pure function of the record and the chain's state at `block`: every reader of that block gets
 * the same answer. Addresses are in EIP-55 case, amounts in base units as decimal strings.
 */
export type AddressStatus = {
  address: Hex;
  state: AddressState;
  chainId: number;
  block: BlockReference;
  /** The intent's token. */
  token: Hex;
  /** The amount of `token` at the address at `block`. */
  balance: string;
  /** The amount that the intent asks for, in base units of `token`. */
  amount: string;
  /** Unix seconds, inclusive: the calls may run in a block of this very second. */
  expirationTimestamp: number;
  /** `recover` would return so much now of `token` and the native coin: none while it is open. */
  recoverable: TokenAmount[];
  execution: Execution | null;
  /** Oldest first, of every token. */
  recoveries: Recovery[];
};

/** The executor's transaction in flight for an address: news of the service, never evidence. */
export type ExecutorProgress = {
  /** Null until it is decided. */
  purpose: "execute" | "recover" | null;
  /** `waiting` for its turn or its next attempt, `sent` and not yet settled, or `given_up`. */
  phase: "waiting" | "sent" | "given_up";
  /** The transaction that was sent last. */
  transactionHash: Hex | null;
  /** Counts the attempts that failed. */
  attempts: number;
  /** Why the last attempt failed. */
  reason: string | null;
};

/** The body of `GET /v1/address/{address}/status`, and the data of each event of `…/events`. */
export type ServiceStatus = AddressStatus & {
  executor: ExecutorProgress | null;
  /** When it ran, or else first sent money to `recovery`: Unix seconds, or null while unknown. */
  settledAt: number | null;
  /** The block explorer that the operator names: an EIP-3091 base URL, or null. */
  explorer: string | null;
  /**
   * Amounts of the chain's coin and of other listed tokens at the address while it is open. They
   * pay for nothing and go to `recovery` later. Null where the chain did not tell.
   */
  strays: TokenAmount[] | null;
};
