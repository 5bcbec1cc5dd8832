// The page with the account's addresses: search, list, and download.

import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
} from "@tanstack/react-query";
import type { Hex } from "executable-address";
import type { AddressPage, ListedAddress } from "executable-address/client";
import { Link, useSearchParams } from "wouter";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Identicon } from "../../ui/drawn/identicon.tsx";
import { Empty } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { type Chain, type FoundStatus, search } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayAmount, sayChain, sayCount } from "../money.ts";
import { Field, Select } from "../parts/field.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { useConfig, useSettled } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { sayProblem } from "../words/problems.ts";
import { useSpeech } from "../words/speech.ts";
import { type AddressFilter, addresses } from "./api.ts";
import { csvRowsMax, exportCsv } from "./csv.ts";
import {
  isBeginning,
  meansAddress,
  readTyped,
  type Typed,
  toFilter,
  untyped,
} from "./filter-query.ts";
import { State, states } from "./state.tsx";

export function AddressesPage() {
  const { say } = useSpeech();
  const [query, setQuery] = useSearchParams();
  const typed = readTyped(query);
  const setTyped = (typed: Typed) => setQuery(search({ ...typed }), { replace: true });
  const settled = readTyped(new URLSearchParams(useSettled(query.toString())));
  const chains = useConfig().data?.chains ?? [];
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-x-4">
        <Heading title={say("addresses")}>{say("addressesText")}</Heading>
        <Link href="/addresses/new" className="button button-primary mb-6">
          {say("newAddress")}
        </Link>
      </div>
      <FilterForm typed={typed} onType={setTyped} chains={chains} />
      <Found filter={toFilter(settled)} chains={chains} onClear={() => setTyped(untyped)} />
    </>
  );
}

type FoundProps = { filter: AddressFilter; chains: readonly Chain[]; onClear: () => void };

function Found({ filter, chains, onClear }: FoundProps) {
  const { say } = useSpeech();
  const found = useAddresses(filter);
  const whole = useWhole(filter);
  const pages = [...whole, ...(found.data?.pages ?? [])];
  const statusOf = useStatuses(pages);
  const items = pages.flatMap((page) => page.items);
  const rows = [...new Map(items.map((row) => [row.address, row])).values()];

  if (!found.isSuccess) return <QueryState query={found} lines={6} inCard />;
  if (rows.length === 0) {
    const isFiltered = Object.values(filter).some((value) => value !== "");
    return <div className="card">{isFiltered ? <NoMatch onClear={onClear} /> : <None />}</div>;
  }
  return (
    <>
      <div className="card">
        <AddressTable rows={rows} statusOf={statusOf} chains={chains} />
        {found.hasNextPage && (
          <div className="border-t border-line p-4 text-center">
            <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
              {say("showOlder")}
            </Button>
          </div>
        )}
      </div>
      <Download filter={filter} chains={chains} />
    </>
  );
}

function Download({ filter, chains }: Omit<FoundProps, "onClear">) {
  const { say } = useSpeech();
  const making = useMutation({ mutationFn: () => exportCsv(filter, chains) });
  const download = () =>
    making.mutate(undefined, {
      onSuccess: ({ text, isCut }) => {
        const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
        Object.assign(document.createElement("a"), {
          href: url,
          download: "addresses.csv",
        }).click();
        URL.revokeObjectURL(url);
        if (isCut) toast(say("csvCut", { n: sayCount(csvRowsMax) }));
      },
      onError: (error) => toast(sayProblem(error, say)),
    });
  return (
    <p className="mt-4 text-end">
      <Button small busy={making.isPending} onClick={download}>
        {say("downloadCsv")}
      </Button>
    </p>
  );
}

function NoMatch({ onClear }: { onClear: () => void }) {
  const { say } = useSpeech();
  const clear = <Button onClick={onClear}>{say("showAll")}</Button>;
  return (
    <Empty icon="search" title={say("nothingMatches")} action={clear}>
      {say("noSuchAddress")}
    </Empty>
  );
}

function None() {
  const { say } = useSpeech();
  const make = (
    <Link href="/addresses/new" className="button button-primary">
      {say("makeFirst")}
    </Link>
  );
  return (
    <Empty icon="list" title={say("noAddresses")} action={make}>
      {say("noAddressesText")}
    </Empty>
  );
}

type FilterFormProps = {
  typed: Typed;
  onType: (typed: Typed) => void;
  chains: readonly Chain[];
};

function FilterForm({ typed, onType, chains }: FilterFormProps) {
  const { say } = useSpeech();
  const settled = useSettled(typed.text.trim());
  const isWrong = meansAddress(settled) && !isBeginning(settled);
  const byAddress = meansAddress(typed.text.trim());
  const change = (name: keyof Typed) => (event: { target: { value: string } }) =>
    onType({ ...typed, [name]: event.target.value });
  return (
    <search className="mb-5 grid grid-cols-2 gap-3 lg:grid-cols-[1fr_11rem_9rem_9.5rem_9.5rem]">
      <div className="max-lg:col-span-2">
        <Field
          label={say("addressOrReference")}
          type="search"
          value={typed.text}
          onChange={change("text")}
          placeholder={say("searchPlaceholder")}
          autoComplete="off"
          spellCheck={false}
          error={isWrong ? say("beginningFault") : undefined}
        />
      </div>
      <Select label={say("token")} value={typed.token} onChange={change("token")}>
        <option value="">{say("anyToken")}</option>
        {chains.flatMap((chain) =>
          chain.tokens.map((token) => (
            <option key={`${chain.chainId}-${token.address}`} value={token.address}>
              {say("tokenOn", { token: token.symbol, chain: chain.name })}
            </option>
          )),
        )}
      </Select>
      <Select
        label={say("state")}
        value={byAddress ? "" : typed.state}
        onChange={change("state")}
        disabled={byAddress}
      >
        <option value="">{say("anyState")}</option>
        {Object.entries(states).map(([state, [, name]]) => (
          <option key={state} value={state}>
            {say(name)}
          </option>
        ))}
      </Select>
      <Field
        label={say("createdFrom")}
        type="date"
        value={byAddress ? "" : typed.from}
        onChange={change("from")}
        disabled={byAddress}
      />
      <Field
        label={say("until")}
        type="date"
        value={byAddress ? "" : typed.until}
        onChange={change("until")}
        disabled={byAddress}
      />
    </search>
  );
}

type AddressTableProps = {
  rows: readonly ListedAddress[];
  statusOf: StatusOf;
  chains: readonly Chain[];
};

function AddressTable({ rows, statusOf, chains }: AddressTableProps) {
  const { say } = useSpeech();
  return (
    <Table
      caption={say("addresses")}
      rows={rows}
      keyOf={({ address }) => address}
      columns={[
        {
          head: say("address"),
          cell: ({ address, reference, claimedReference }) => (
            <span className="flex min-w-0 flex-wrap items-center gap-1">
              <Identicon address={address} />
              <Link href={`/addresses/${address}`} className="link">
                <ShortHex hex={address} />
              </Link>
              <span className="max-sm:hidden">
                <CopyButton look="bare" text={address} what={say("theAddress")} />
              </span>
              {reference && (
                <bdi className="w-full max-w-56 truncate text-sm text-soft max-sm:hidden">
                  {reference}
                </bdi>
              )}
              {claimedReference && (
                <bdi className="w-full max-w-56 truncate text-sm text-soft">
                  {say("claimed", { reference: claimedReference })}
                </bdi>
              )}
            </span>
          ),
        },
        { head: say("amount"), cell: (row) => <Amount of={row} chains={chains} /> },
        {
          head: say("state"),
          cell: (row) => (
            <span className="flex min-w-0 items-center gap-2">
              <State of={row} now={statusOf(row.address)} />
              {row.reference && (
                <bdi className="truncate text-sm text-soft sm:hidden">{row.reference}</bdi>
              )}
            </span>
          ),
        },
        {
          head: say("expires"),
          isWide: true,
          cell: ({ expirationTimestamp }) => <Time at={expirationTimestamp * 1000} />,
        },
        { head: say("created"), cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  );
}

function Amount({ of: row, chains }: { of: ListedAddress; chains: readonly Chain[] }) {
  const { say } = useSpeech();
  return (
    <span className="inline-block sm:min-w-24">
      <bdi className="tabular-nums">{sayAmount(row.requestedAmount, row, chains, say)}</bdi>
      <span className="text-sm text-soft max-sm:ms-1.5 sm:block">{sayChain(row, chains, say)}</span>
    </span>
  );
}

/**
 * Shows a shortened address. Screen readers, tooltips, and copied text contain the full address.
 */
function ShortHex({ hex }: { hex: string }) {
  return (
    <span className="font-mono text-[0.875em]" title={hex}>
      <span aria-hidden="true">
        {hex.slice(0, 8)}…{hex.slice(-6)}
      </span>
      <span className="sr-only">{hex}</span>
    </span>
  );
}

/** The page requests statuses again at this interval, because a status can change at any time. */
const statusesEveryMs = 15_000;

const useAddresses = (filter: AddressFilter) =>
  useInfiniteQuery({
    queryKey: ["addresses", filter],
    // A new search aborts the previous request, and the server then cancels the previous search.
    queryFn: ({ pageParam, signal }) => addresses.list(filter, pageParam, undefined, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });

/**
 * Also searches for addresses whose full reference equals the text. A search for a full reference
 * uses an index, so it finds old addresses quickly.
 */
function useWhole(filter: AddressFilter): AddressPage[] {
  const { referenceContains: reference } = filter;
  const { data } = useQuery({
    queryKey: ["addresses", "whole", filter],
    queryFn: ({ signal }) =>
      addresses.list({ ...filter, referenceContains: "", reference }, null, undefined, signal),
    enabled: reference !== "",
  });
  return data ? [data] : [];
}

type StatusOf = (address: Hex) => FoundStatus | undefined;

/**
 * Requests the statuses of all rows of a page in one request. Until the response arrives, the
 * returned function returns undefined for these rows.
 */
function useStatuses(pages: readonly AddressPage[]): StatusOf {
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
