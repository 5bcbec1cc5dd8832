import type { Intent } from "executable-address";
import { Link } from "wouter";
import { CopyButton } from "../../ui/copy.tsx";
import { ShortHex } from "../../ui/hex.tsx";
import { Identicon } from "../../ui/identicon.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import type { Chain } from "../api.ts";
import { chainOf, sayAmount } from "../money.ts";
import type { OwnedAddress } from "./api.ts";
import type { StatusOf } from "./queries.ts";
import { State } from "./state.tsx";

type AddressTableProps = {
  rows: readonly OwnedAddress[];
  statusOf: StatusOf;
  chains: readonly Chain[];
};

export function AddressTable({ rows, statusOf, chains }: AddressTableProps) {
  return (
    <Table
      caption="Addresses"
      rows={rows}
      keyOf={({ address }) => address}
      columns={[
        {
          head: "Address",
          cell: ({ address, reference }) => (
            <span className="flex min-w-0 flex-wrap items-center gap-1">
              <Identicon address={address} />
              <Link href={`/addresses/${address}`} className="link">
                <ShortHex hex={address} />
              </Link>
              <span className="max-sm:hidden">
                <CopyButton look="bare" text={address} what="address" />
              </span>
              {reference && (
                <bdi className="w-full max-w-56 truncate text-sm text-soft max-sm:hidden">
                  {reference}
                </bdi>
              )}
            </span>
          ),
        },
        { head: "Amount", cell: ({ intent }) => <Amount intent={intent} chains={chains} /> },
        {
          head: "State",
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
          head: "Expires",
          isWide: true,
          cell: ({ intent }) => <Time at={intent.expirationTimestamp * 1000} />,
        },
        { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  );
}

function Amount({ intent, chains }: { intent: Intent; chains: readonly Chain[] }) {
  return (
    <span>
      <span className="tabular-nums">{sayAmount(intent.amount, intent, chains)}</span>
      <span className="text-sm text-soft max-sm:ml-1.5 sm:block">
        {chainOf(intent, chains)?.name ?? `chain ${intent.chainId}`}
      </span>
    </span>
  );
}
