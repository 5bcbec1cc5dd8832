// What an account reads of its own: its addresses, and the events about them. The service's word,
// not proof: a record proves itself, and `executable-address/status` asks the chain.

import type { Hex } from "../intent/intent.ts";
import type { AddressState, AddressStatus, BlockReference } from "../status/shape.ts";

/** Times are ISO 8601: `From` inclusive, `Until` exclusive. */
export type AddressQuery = {
  readonly order?: "newest" | "oldest";
  /** 1 to 100. */
  readonly limit?: number;
  /** `next` of an earlier page of the same query. */
  readonly cursor?: string;
  readonly state?: AddressState;
  readonly token?: Hex;
  readonly chainId?: number;
  readonly reference?: string;
  readonly createdFrom?: string;
  readonly createdUntil?: string;
  readonly settledFrom?: string;
  readonly settledUntil?: string;
};

export type ListedAddress = {
  address: Hex;
  recordUrl: string;
  reference: string | null;
  createdAt: string;
  chainId: number;
  token: Hex;
  amount: string;
  /** As last seen at `block`; `unfunded` and null where no money was ever seen. */
  state: AddressState;
  block: BlockReference | null;
  /** Of the execution, or of the recovery that closed it. */
  transactionHash: Hex | null;
  settledAt: string | null;
};

/** A page may be empty and still have a `next`: few rows were among those it looked at. */
export type AddressPage = { items: ListedAddress[]; next: string | null };

/** `cursor`: `next` of an earlier page. */
export type EventQuery = { readonly cursor?: string; readonly limit?: number };

/** What a webhook carries, byte for byte. */
export type ServiceEvent = {
  /** Also `webhook-id`: deliveries may repeat, ids tell. */
  id: string;
  type:
    | "address.funded"
    | "address.executed"
    | "address.expired"
    | "address.recovered"
    | "address.surplus"
    | "address.reverted";
  /** When it was said, ISO 8601. */
  timestamp: string;
  data: {
    address: Hex;
    reference: string | null;
    /** From 1, of the account's events about this address. */
    sequence: number;
    recordUrl: string;
    transactionHash: Hex | null;
    /** At `status.block`; of its recoveries the newest 30. */
    status: AddressStatus;
    recoveriesOmitted: number;
  };
};

export type EventPage = { items: ServiceEvent[]; next: string; hasMore: boolean };

/** `?name=value&…` of what is defined, or nothing. */
export function queryOf(query: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}
