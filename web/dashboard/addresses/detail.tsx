import { useQuery } from "@tanstack/react-query";
import { type AddressRecord, type Hex, makeRecord } from "executable-address";
import { isSame } from "executable-address/page";
import type { ServiceStatus } from "executable-address/status";
import { type ReactNode, useMemo } from "react";
import { Link } from "wouter";
import { AboutContext } from "../../shown/about.tsx";
import { GroupedAddress } from "../../shown/address-text.tsx";
import { Calls } from "../../shown/calls.tsx";
import { readFacts } from "../../shown/facts.ts";
import { MoneyFlow } from "../../shown/money-flow.tsx";
import { useNews } from "../../shown/news.ts";
import { useSimulation } from "../../shown/simulation.ts";
import { Transaction } from "../../shown/transaction.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Identicon } from "../../ui/identicon.tsx";
import { Badge, Notice } from "../../ui/notice.tsx";
import { Snippet } from "../../ui/snippet.tsx";
import { Time } from "../../ui/time.tsx";
import type { Chain } from "../api.ts";
import { Heading } from "../heading.tsx";
import { chainOf, sayAmount } from "../money.ts";
import { useConfig } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { addresses, type OwnedAddress } from "./api.ts";
import { isWhole, toFilter, untyped } from "./filter-query.ts";
import { State } from "./state.tsx";

/** `npm start` runs this chain, and `npm run pay` pays there. */
const localChainId = 31_337;

/** All of one address, live, under a URL of its own. */
export function AddressPage({ params: { address } }: { params: { address: string } }) {
  const chains = useConfig().data?.chains;
  const found = useQuery({
    queryKey: ["addresses", "one", address],
    queryFn: () => addresses.list(toFilter({ ...untyped, text: address }), null, 1),
    enabled: isWhole(address),
  });
  const row = found.data?.items[0];
  return (
    <>
      <p className="mb-3">
        <Link href="/addresses" className="link">
          All addresses
        </Link>
      </p>
      {isWhole(address) && <QueryState query={found} lines={8} inCard />}
      {row && chains && <Address key={row.address} row={row} chains={chains} />}
      {(!isWhole(address) || (found.isSuccess && !row)) && (
        <Heading title="Not found">This account created no such address.</Heading>
      )}
    </>
  );
}

type AddressProps = { row: OwnedAddress; chains: readonly Chain[] };
const facts = readFacts(undefined);

/** The intent is shown once it was hashed here to the address that the row is of. */
function Address({ row, chains }: AddressProps) {
  const { address, reference, intent } = row;
  const record = useMemo(() => makeRecord(intent), [intent]);
  if (!isSame(record.address, address)) {
    return (
      <Notice tone="bad" title="Do not use it">
        <p>What the server answered does not belong to its own address.</p>
      </Notice>
    );
  }
  return (
    <AboutContext value={{ record, chains, facts }}>
      <Heading title={reference ?? `${address.slice(0, 8)}…${address.slice(-6)}`}>
        {sayAmount(intent.amount, intent, chains)} on{" "}
        {chainOf(intent, chains)?.name ?? `chain ${intent.chainId}`}
      </Heading>
      <Sections row={row} chains={chains} record={record} />
    </AboutContext>
  );
}

function Sections({ row, chains, record }: AddressProps & { record: AddressRecord }) {
  const { address, createdAt, intent } = row;
  const { status, isSilent, chainSeconds } = useNews(address);
  const { simulated } = useSimulation(address, status);
  const simulation = simulated.kind === "done" ? simulated.simulation : undefined;
  const now = status ? { address, status } : isSilent ? { address, error: "silent" } : undefined;
  return (
    <div className="space-y-6">
      <section aria-label="The address" className="card space-y-4 p-5">
        <div className="flex flex-wrap items-center gap-3">
          <State of={row} now={now} />
          <Badge>Terms match this address</Badge>
        </div>
        <p className="flex items-start gap-2">
          <Identicon address={address} />
          <GroupedAddress address={address} />
          <CopyButton look="bare" text={address} what="address" />
        </p>
        <p>
          <PublicPage href={`/a/${address}`}>The payer's page</PublicPage>
          {status?.execution && <PublicPage href={`/receipt/${address}`}>Receipt</PublicPage>}
        </p>
        {intent.chainId === localChainId && status?.state === "unfunded" && (
          <Snippet
            samples={[{ name: "Terminal", text: `npm run --silent pay -- ${address}` }]}
            label="Pay it on the local chain"
          />
        )}
      </section>
      <section aria-labelledby="flow" className="card p-5">
        <h2 id="flow" className="mb-4">
          Where the money goes
        </h2>
        <MoneyFlow
          status={status}
          simulation={simulation}
          createdAt={Math.floor(Date.parse(createdAt) / 1000)}
          nowSeconds={Math.floor(chainSeconds() ?? Date.now() / 1000)}
        />
      </section>
      <section aria-labelledby="facts" className="card p-5">
        <h2 id="facts" className="mb-4">
          Payments and terms
        </h2>
        <Definitions
          items={[
            ...(status ? moneyOf(status, chains) : []),
            ["Created", <Time key="created" at={createdAt} />],
            ["Expires", <Time key="expires" at={intent.expirationTimestamp * 1000} />],
            ["Recovery", <Account key="recovery" address={intent.recovery} />],
            ["Token", <Account key="token" address={intent.token} />],
            ["Chain id", intent.chainId],
            ["Salt", <Code key="salt">{record.intent.salt}</Code>],
          ]}
        />
      </section>
      <section aria-labelledby="calls" className="card p-5">
        <h2 id="calls" className="mb-4">
          {intent.calls.length === 1 ? "One call runs" : `${intent.calls.length} calls run`}
        </h2>
        <Calls />
      </section>
    </div>
  );
}

const PublicPage = ({ href, children }: { href: string; children: ReactNode }) => (
  <a className="link mr-4" href={href} target="_blank" rel="noreferrer">
    {children}
  </a>
);

const Code = ({ children }: { children: ReactNode }) => (
  <code className="break-all">{children}</code>
);

const Account = ({ address }: { address: Hex }) => (
  <span className="flex items-start gap-2">
    <Identicon address={address} />
    <Code>{address}</Code>
  </span>
);

/** Shows what came and where it went, as far as there is any. */
function moneyOf(status: ServiceStatus, chains: readonly Chain[]): [string, ReactNode][] {
  const { execution, recoveries, recoverable, chainId, explorer } = status;
  const amountOf = (token: Hex, amount: string) => sayAmount(amount, { chainId, token }, chains);
  const settled = (hash: Hex, text: string) => (
    <span key={hash}>
      {text}, transaction <Transaction hash={hash} explorer={explorer} />
    </span>
  );
  const numbered = (name: string, at: number) => (at === 0 ? name : `${name}, ${at + 1}`);
  return [
    ["Holds", amountOf(status.token, status.balance)],
    ...(execution
      ? ([
          [
            "Executed",
            settled(execution.transactionHash, `with ${amountOf(status.token, execution.held)}`),
          ],
        ] as [string, ReactNode][])
      : []),
    ...recoveries.map(({ token, amount, transactionHash }, at): [string, ReactNode] => [
      numbered("Returned", at),
      settled(transactionHash, amountOf(token, amount)),
    ]),
    ...recoverable.map(({ token, amount }, at): [string, ReactNode] => [
      numbered("To be returned", at),
      amountOf(token, amount),
    ]),
  ];
}
