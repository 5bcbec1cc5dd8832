import { useState } from "react";
import { Link } from "wouter";
import { Button } from "../ui/button.tsx";
import { Field, Select } from "../ui/field.tsx";
import { Empty, Failed, Loading } from "../ui/states.tsx";
import { AddressTable } from "./address-table.tsx";
import type { AddressFilter, Chain, Token } from "./api.ts";
import { Heading } from "./heading.tsx";
import { sayProblem } from "./problems.ts";
import { useAddresses, useConfig, useSettled } from "./queries.ts";

/** The beginning of an address is enough to find it. */
const beginningPattern = /^0x[0-9a-fA-F]{0,40}$/;

export function AddressesPage() {
  const [address, setAddress] = useState("");
  const [token, setToken] = useState("");
  const typed = useSettled(address.trim());
  const chains = useConfig().data?.chains ?? [];
  const wrong = typed !== "" && !beginningPattern.test(typed);
  const filter = { address: wrong ? "" : typed, token };
  const search = () => {
    setAddress("");
    setToken("");
  };

  return (
    <>
      <Heading title="Addresses">What this account created, newest first.</Heading>
      <search className="mb-5 grid gap-4 sm:grid-cols-[1fr_14rem]">
        <Field
          label="Address, or how it begins"
          type="search"
          value={address}
          onChange={(event) => setAddress(event.target.value)}
          placeholder="0x…"
          autoComplete="off"
          spellCheck={false}
          error={wrong ? "An address begins with 0x, hex characters follow." : undefined}
        />
        <Select label="Token" value={token} onChange={(event) => setToken(event.target.value)}>
          <option value="">Any token</option>
          {tokensOf(chains).map(({ token, chain }) => (
            <option key={`${chain.chainId}-${token.address}`} value={token.address}>
              {token.symbol} on {chain.name}
            </option>
          ))}
        </Select>
      </search>
      <Found filter={filter} chains={chains} onClear={search} />
    </>
  );
}

const tokensOf = (chains: readonly Chain[]): { token: Token; chain: Chain }[] =>
  chains.flatMap((chain) => chain.tokens.map((token) => ({ token, chain })));

type FoundProps = { filter: AddressFilter; chains: readonly Chain[]; onClear: () => void };

function Found({ filter, chains, onClear }: FoundProps) {
  const found = useAddresses(filter);
  const filtered = filter.address !== "" || filter.token !== "";
  const rows = found.data?.pages.flatMap((page) => page.items) ?? [];

  if (found.isPending) {
    return (
      <div className="card">
        <Loading lines={6} />
      </div>
    );
  }
  if (found.isError) {
    return <Failed message={sayProblem(found.error)} onRetry={() => void found.refetch()} />;
  }
  if (rows.length === 0) {
    return (
      <div className="card">
        {filtered ? (
          <Empty
            icon="search"
            title="Nothing matches"
            action={<Button onClick={onClear}>Show all</Button>}
          >
            This account created no such address.
          </Empty>
        ) : (
          <Empty
            icon="list"
            title="No addresses yet"
            action={
              <Link href="/" className="button button-primary">
                See how to create one
              </Link>
            }
          >
            Each address you create shows here with what it is for and what became of it.
          </Empty>
        )}
      </div>
    );
  }
  return (
    <div className="card">
      <AddressTable rows={rows} chains={chains} />
      {found.hasNextPage && (
        <div className="border-t border-line p-4 text-center">
          <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Show older
          </Button>
        </div>
      )}
    </div>
  );
}
