// Requests to the routes of service/http/dashboard/addresses.ts. Rows have the same fields as in
// GET /v1/addresses.

import type { AddressRecord, Hex } from "executable-address";
import type { AddressPage } from "executable-address/client";
import { type FoundStatus, search } from "../api.ts";
import { request } from "../request.ts";

/**
 * A request omits empty fields. `address` can be the beginning of an address, and can be combined
 * only with `token`.
 */
export type AddressFilter = {
  address: string;
  /** A part of the reference. The search ignores case. */
  referenceContains: string;
  /** The whole reference. */
  reference?: string;
  token: string;
  state: string;
  /** ISO 8601. `from` is inclusive, and `until` is exclusive. */
  createdFrom: string;
  createdUntil: string;
};

/** Rows per page. The server returns the statuses of at most this many addresses per request. */
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
  /** Returns the next page of an export. */
  export: (filter: AddressFilter, cursor: string | null) =>
    addresses.list(filter, cursor, exportRows),
};
