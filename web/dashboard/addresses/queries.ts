import { keepPreviousData, useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import type { Hex } from "executable-address";
import type { AddressPage } from "executable-address/client";
import type { FoundStatus } from "../api.ts";
import { type AddressFilter, addresses } from "./api.ts";

/** Statuses change without user action. */
const statusesEveryMs = 15_000;

export const useAddresses = (filter: AddressFilter) =>
  useInfiniteQuery({
    queryKey: ["addresses", filter],
    // The server cancels a search when its client disconnects, so outdated searches end early.
    queryFn: ({ pageParam, signal }) => addresses.list(filter, pageParam, undefined, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });

/** A whole reference is found by index, regardless of the address's age. */
export function useWhole(filter: AddressFilter): AddressPage[] {
  const { referenceContains: reference } = filter;
  const { data } = useQuery({
    queryKey: ["addresses", "whole", filter],
    queryFn: ({ signal }) =>
      addresses.list({ ...filter, referenceContains: "", reference }, null, undefined, signal),
    enabled: reference !== "",
  });
  return data ? [data] : [];
}

export type StatusOf = (address: Hex) => FoundStatus | undefined;

/** One request for each page of rows; undefined until it responds. */
export function useStatuses(pages: readonly AddressPage[]): StatusOf {
  const found = useQueries({
    queries: pages
      .map(({ items }) => items.map(({ address }) => address))
      .filter((shown) => shown.length > 0)
      .map((shown) => ({
        queryKey: ["statuses", ...shown],
        queryFn: () => addresses.statuses(shown),
        refetchInterval: statusesEveryMs,
      })),
  });
  const items = found.flatMap(({ data, isError }, page) =>
    isError && !data
      ? pages[page]!.items.map(({ address }) => ({ address, error: "unreachable" }))
      : (data?.items ?? []),
  );
  return (address) => items.find((item) => item.address === address);
}
