import { keepPreviousData, useInfiniteQuery, useQueries } from "@tanstack/react-query";
import type { Hex } from "executable-address";
import type { Page } from "../api.ts";
import { type AddressFilter, addresses, type FoundStatus, type OwnedAddress } from "./api.ts";

/** States change without anybody pressing anything. */
const statusesEveryMs = 15_000;

export const useAddresses = (filter: AddressFilter) =>
  useInfiniteQuery({
    queryKey: ["addresses", filter],
    queryFn: ({ pageParam }) => addresses.list(filter, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });

export type StatusOf = (address: Hex) => FoundStatus | undefined;

/** One request for each page of rows; undefined until it is answered. */
export function useStatuses(pages: readonly Page<OwnedAddress>[]): StatusOf {
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
