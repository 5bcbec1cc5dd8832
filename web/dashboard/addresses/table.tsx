import type { ListedAddress } from "executable-address/client";
import { Link } from "wouter";
import { CopyButton } from "../../ui/copy.tsx";
import { Identicon } from "../../ui/drawn/identicon.tsx";
import type { Chain } from "../api.ts";
import { sayAmount, sayChain } from "../money.ts";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { useSpeech } from "../words/speech.ts";
import type { StatusOf } from "./queries.ts";
import { State } from "./state.tsx";

type AddressTableProps = {
  rows: readonly ListedAddress[];
  statusOf: StatusOf;
  chains: readonly Chain[];
};

export function AddressTable({ rows, statusOf, chains }: AddressTableProps) {
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
      <bdi className="tabular-nums">{sayAmount(row.amount, row, chains, say)}</bdi>
      <span className="text-sm text-soft max-sm:ms-1.5 sm:block">{sayChain(row, chains, say)}</span>
    </span>
  );
}

/**
 * Shows an address shortened in the middle. Screen readers, tooltips, and copying get all of it.
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
