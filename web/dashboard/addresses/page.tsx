import { useMutation } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { type Chain, search } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayCount } from "../money.ts";
import { useConfig, useSettled } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { sayProblem } from "../words/problems.ts";
import { useSpeech } from "../words/speech.ts";
import type { AddressFilter } from "./api.ts";
import { csvRowsMax, exportCsv } from "./csv.ts";
import { FilterForm } from "./filter.tsx";
import { readTyped, type Typed, toFilter, untyped } from "./filter-query.ts";
import { useAddresses, useStatuses, useWhole } from "./queries.ts";
import { AddressTable } from "./table.tsx";

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
