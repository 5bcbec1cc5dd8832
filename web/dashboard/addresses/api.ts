// Requests the routes of service/http/dashboard/addresses.ts. Rows are those of GET /v1/addresses.

import type { AddressRecord, Hex } from "executable-address";
import type { AddressPage } from "executable-address/client";
import { type FoundStatus, search } from "../api.ts";
import { request } from "../request.ts";

/** An empty field is not asked for; `address`, or how it begins, goes with `token` alone. */
export type AddressFilter = {
  address: string;
  /** Any part of it, in any letter case. */
  referenceContains: string;
  /** The whole of it. */
  reference?: string;
  token: string;
  state: string;
  /** ISO 8601, from inclusive, until exclusive. */
  createdFrom: string;
  createdUntil: string;
};

/** A page of the list is as long as the server takes statuses in one request. */
const pageRows = 20;
const exportRows = 100;

export const addresses = {
  list: (filter: AddressFilter, cursor: string | null, limit = pageRows, signal?: AbortSignal) =>
    request<AddressPage>(
      "GET",
      `/dashboard/api/addresses?${search({ ...filter, cursor, limit: `${limit}` })}`,
      undefined,
      signal,
    ),
  record: (address: string) => request<AddressRecord>("GET", `/v1/address/${address}`),
  create: (intent: object, reference = "") => {
    const query = reference && `?reference=${encodeURIComponent(reference)}`;
    return request<AddressRecord>("POST", `/dashboard/api/addresses${query}`, intent);
  },
  statuses: (shown: readonly Hex[]) =>
    request<{ items: FoundStatus[] }>("GET", `/dashboard/api/statuses?addresses=${shown.join()}`),
  /** The next rows of a long walk through the list. */
  export: (filter: AddressFilter, cursor: string | null) =>
    addresses.list(filter, cursor, exportRows),
};
