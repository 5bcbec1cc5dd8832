import type { AddressRecord } from "executable-address";
import { useEffect } from "react";
import { Badge, Notice } from "../ui/notice.tsx";
import { Calls } from "./calls.tsx";
import type { Chain } from "./chains.ts";
import { HowToPay, takesNoMore } from "./how-to-pay.tsx";
import { useNowSeconds } from "./now.ts";
import { findToken, hazardsOf, sayAmount } from "./reading.ts";
import { WouldHappen } from "./simulation-card.tsx";
import { Evidence, Otherwise } from "./small-print.tsx";
import { useStatus } from "./status.ts";
import { StatusLine } from "./status-line.tsx";

type Props = { record: AddressRecord; chains: readonly Chain[] };

/** A verified record, from the most to the least important for somebody about to pay. */
export function Payment({ record, chains }: Props) {
  const nowSeconds = useNowSeconds();
  const following = useStatus(record.address);
  const { intent } = record;
  const token = findToken(intent, chains, intent.token);
  const chain = chains.find(({ chainId }) => chainId === intent.chainId);
  const amount = sayAmount(intent.amount, token);
  useEffect(() => {
    document.title = `${amount} · Executable address`;
  }, [amount]);
  const isClosed = nowSeconds > intent.expirationTimestamp || takesNoMore(following.status);
  const hazards = hazardsOf(intent, chains, nowSeconds);
  return (
    <div className="space-y-5">
      <section className="card p-5 sm:p-6">
        <div className="flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            <p className="text-soft">{isClosed ? "Was asked for" : "Pay exactly"}</p>
            <h1 className="text-3xl break-words tabular-nums">{amount}</h1>
            <p className="mt-1 text-soft">on {chain?.name ?? `chain ${intent.chainId}`}</p>
          </div>
          <Badge tone="good">Checked in your browser</Badge>
        </div>
        <StatusLine following={following} token={token} />
      </section>
      {hazards.map(({ tone, title, text }) => (
        <Notice key={title} tone={tone} title={title}>
          <p>{text}</p>
        </Notice>
      ))}
      <section aria-labelledby="does" className="card p-5 sm:p-6">
        <h2 id="does" className="mb-1">
          What paying does
        </h2>
        <p className="mb-4 text-soft">
          Once the address holds the amount, anyone may set this off. All of it happens, in this
          order and once, or none of it.
        </p>
        <Calls record={record} chains={chains} />
      </section>
      <WouldHappen record={record} chains={chains} status={following.status} />
      <HowToPay record={record} token={token} following={following} isClosed={isClosed} />
      <Otherwise record={record} />
      <Evidence record={record} />
    </div>
  );
}
