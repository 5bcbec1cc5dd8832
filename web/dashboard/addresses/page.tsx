import { useMutation } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { type Chain, search } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayProblem } from "../problems.ts";
import { useConfig, useSettled } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import type { AddressFilter } from "./api.ts";
import { csvRowsMax, exportCsv } from "./csv.ts";
import { FilterForm } from "./filter.tsx";
import { type Typed, toFilter, typedOf, untyped } from "./filter-query.ts";
import { useAddresses, useStatuses } from "./queries.ts";
import { AddressTable } from "./table.tsx";

export function AddressesPage() {
  const [query, setQuery] = useSearchParams();
  const typed = typedOf(query);
  const setTyped = (typed: Typed) => setQuery(search({ ...typed }), { replace: true });
  const asked = typedOf(new URLSearchParams(useSettled(query.toString())));
  const chains = useConfig().data?.chains ?? [];
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-x-4">
        <Heading title="Addresses">What this account created, newest first.</Heading>
        <Link href="/addresses/new" className="button button-primary mb-6">
          New address
        </Link>
      </div>
      <FilterForm typed={typed} onType={setTyped} chains={chains} />
      <Found filter={toFilter(asked)} chains={chains} onClear={() => setTyped(untyped)} />
    </>
  );
}

type FoundProps = { filter: AddressFilter; chains: readonly Chain[]; onClear: () => void };

function Found({ filter, chains, onClear }: FoundProps) {
  const found = useAddresses(filter);
  const pages = found.data?.pages ?? [];
  const statusOf = useStatuses(pages);
  const rows = pages.flatMap((page) => page.items);

  if (!found.isSuccess) return <QueryState query={found} lines={6} inCard />;
  if (rows.length === 0 && !found.hasNextPage) {
    const isFiltered = Object.values(filter).some((value) => value !== "");
    return <div className="card">{isFiltered ? <NoMatch onClear={onClear} /> : <None />}</div>;
  }
  return (
    <>
      <div className="card">
        <AddressTable rows={rows} statusOf={statusOf} chains={chains} />
        {found.hasNextPage && (
          <div className="border-t border-line p-4 text-center">
            {rows.length === 0 && (
              <p className="mb-3 text-soft">Nothing among the newest. There are older ones.</p>
            )}
            <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
              Show older
            </Button>
          </div>
        )}
      </div>
      <Download filter={filter} chains={chains} />
    </>
  );
}

function Download({ filter, chains }: Omit<FoundProps, "onClear">) {
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
        if (isCut) toast(`The newest ${csvRowsMax.toLocaleString("en")} are in the file`);
      },
      onError: (error) => toast(sayProblem(error)),
    });
  return (
    <p className="mt-4 text-right">
      <Button small busy={making.isPending} onClick={download}>
        Download as CSV
      </Button>
    </p>
  );
}

const NoMatch = ({ onClear }: { onClear: () => void }) => (
  <Empty icon="search" title="Nothing matches" action={<Button onClick={onClear}>Show all</Button>}>
    This account created no such address.
  </Empty>
);

const None = () => (
  <Empty
    icon="list"
    title="No addresses yet"
    action={
      <Link href="/addresses/new" className="button button-primary">
        Make the first
      </Link>
    }
  >
    Each address you create shows here with what it is for and what became of it.
  </Empty>
);
