// The page of one address: its live status, its intent, and its public links.

import { useMutation, useQuery } from "@tanstack/react-query";
import {
  type AddressRecord,
  type Hex,
  type Intent,
  isAddress,
  makeRecord,
  requestedAmount,
} from "executable-address";
import type { ListedAddress } from "executable-address/client";
import { RpcError, type ServiceStatus } from "executable-address/status";
import { isSame, type News } from "executable-address-element/page";
import { type ReactNode, useMemo } from "react";
import { Link } from "wouter";
import { AboutContext } from "../../shown/about.tsx";
import { GroupedAddress, Whole, WholeAddress } from "../../shown/address-text.tsx";
import { Calls } from "../../shown/calls.tsx";
import { readFacts } from "../../shown/facts.ts";
import { ProvedFlow } from "../../shown/money-flow.tsx";
import { nowSeconds, useNews } from "../../shown/news.ts";
import { useSimulation } from "../../shown/simulation.ts";
import { Transaction } from "../../shown/transaction.tsx";
import { useSpeech as useShownSpeech } from "../../shown/words/say.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Identicon } from "../../ui/drawn/identicon.tsx";
import { Badge, Notice } from "../../ui/notice.tsx";
import type { Chain } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayAmount, sayChain } from "../money.ts";
import { Snippet } from "../parts/snippet.tsx";
import { Time } from "../parts/time.tsx";
import { useConfig } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { Said, useSpeech } from "../words/speech.ts";
import { type Say, sayMany } from "../words/words.ts";
import { addresses } from "./api.ts";
import { toFilter, untyped } from "./filter-query.ts";
import { payAt } from "./local-node.ts";
import { State } from "./state.tsx";

/** Shows an address with its live status. */
export function AddressPage({ params: { address } }: { params: { address: string } }) {
  const { say } = useSpeech();
  const chains = useConfig().data?.chains;
  const found = useQuery({
    queryKey: ["addresses", "one", address],
    queryFn: () => findOne(address),
    enabled: isAddress(address),
  });
  const owned = found.data;
  return (
    <>
      <p className="mb-3">
        <Link href="/addresses" className="link">
          {say("allAddresses")}
        </Link>
      </p>
      {isAddress(address) && <QueryState query={found} lines={8} inCard />}
      {owned && chains && <Address key={owned.row.address} {...owned} chains={chains} />}
      {(!isAddress(address) || owned === null) && (
        <Heading title={say("notFound")}>{say("noSuchAddress")}</Heading>
      )}
    </>
  );
}

/** @returns null if the address does not belong to the account */
async function findOne(address: string): Promise<{ row: ListedAddress; intent: Intent } | null> {
  const { items } = await addresses.list(toFilter({ ...untyped, text: address }), null, 1);
  const [row] = items;
  return row ? { row, intent: (await addresses.record(row.address)).intent } : null;
}

type AddressProps = { row: ListedAddress; chains: readonly Chain[] };
const facts = readFacts(undefined);

/**
 * Shows an address and its intent. If the address is not derived from this intent, shows a warning.
 */
function Address({ row, intent, chains }: AddressProps & { intent: Intent }) {
  const { say } = useSpeech();
  const { address, reference } = row;
  const record = useMemo(() => makeRecord(intent), [intent]);
  if (!isSame(record.address, address)) {
    return (
      <Notice tone="bad" title={say("doNotUse")}>
        <p>{say("notItsOwn")}</p>
      </Notice>
    );
  }
  return (
    <AboutContext value={{ record, chains, facts }}>
      <Heading title={reference ?? `${address.slice(0, 8)}…${address.slice(-6)}`}>
        {say("amountOn", {
          amount: sayAmount(requestedAmount(intent), intent, chains, say),
          chain: sayChain(intent, chains, say),
        })}
      </Heading>
      <Sections row={row} chains={chains} record={record} />
    </AboutContext>
  );
}

type SectionsProps = AddressProps & { record: AddressRecord };

function Sections({ row, chains, record }: SectionsProps) {
  const { say } = useSpeech();
  const { say: sayShown } = useShownSpeech();
  const { address, createdAt } = row;
  const { intent } = record;
  const news = useNews(address);
  const { status } = news;
  const { simulated } = useSimulation(address, status);
  const simulation = simulated.kind === "done" ? simulated.simulation : undefined;
  return (
    <div className="space-y-6">
      <Present row={row} chains={chains} record={record} news={news} />
      <section aria-labelledby="flow" className="card p-5">
        <h2 id="flow" className="mb-4">
          {sayShown("flowTitle")}
        </h2>
        <ProvedFlow
          status={status}
          simulation={simulation}
          createdAtSeconds={Math.floor(Date.parse(createdAt) / 1000)}
          nowSeconds={nowSeconds(news)}
        />
      </section>
      <section aria-labelledby="facts" className="card p-5">
        <h2 id="facts" className="mb-4">
          {say("paymentsAndTerms")}
        </h2>
        <Definitions
          items={[
            ...(status ? describeMoney(status, chains, say) : []),
            [say("created"), <Time key="created" at={createdAt} nowSeconds={nowSeconds(news)} />],
            [say("expires"), <Time key="expires" at={intent.expirationTimestamp * 1000} />],
            [
              sayShown("recoveryAddress"),
              <WholeAddress key="recovery" address={intent.recovery} />,
            ],
            [say("token"), <WholeAddress key="token" address={intent.token} />],
            [say("chainId"), intent.chainId],
            [sayShown("salt"), <Whole key="salt" text={intent.salt} />],
          ]}
        />
      </section>
      <section aria-labelledby="calls" className="card p-5">
        <h2 id="calls" className="mb-4">
          {sayMany(say, "callsRun", intent.calls.length)}
        </h2>
        <Calls />
      </section>
    </div>
  );
}

type PresentProps = SectionsProps & { news: News };

/**
 * Shows the address, its status, and its public pages. On a local chain, also shows a button that
 * pays the address.
 */
function Present({ row, chains, record, news: { status, isSilent } }: PresentProps) {
  const { say } = useSpeech();
  const { say: sayShown } = useShownSpeech();
  const { address } = row;
  const { chainId } = record.intent;
  const localNode = chains.find((chain) => chain.chainId === chainId)?.localNode;
  const now = status ? { address, status } : isSilent ? { address, error: "silent" } : undefined;
  return (
    <section aria-label={say("onThisPage")} className="card space-y-4 p-4 sm:p-5">
      <div className="flex flex-wrap items-center gap-3">
        <State of={row} now={now} />
        <Badge>{sayShown("termsMatch")}</Badge>
      </div>
      <p className="flex items-start gap-1 sm:gap-2">
        <Identicon address={address} />
        <GroupedAddress address={address} />
        <CopyButton look="bare" className="max-sm:-me-3" text={address} what={say("theAddress")} />
      </p>
      <p>
        <PublicPage href={`/a/${address}`}>{say("payersPage")}</PublicPage>
        {status?.execution && (
          <PublicPage href={`/receipt/${address}`}>{say("receipt")}</PublicPage>
        )}
      </p>
      {localNode && <PayHere record={record} localNode={localNode} status={status} />}
    </section>
  );
}

const PublicPage = ({ href, children }: { href: string; children: ReactNode }) => (
  <a className="link me-4" href={href} target="_blank" rel="noreferrer">
    {children}
  </a>
);

/** Describes the received, executed, and returned amounts. */
function describeMoney(
  status: ServiceStatus,
  chains: readonly Chain[],
  say: Say,
): (readonly [string, ReactNode])[] {
  const { execution, recoveries, recoverable, chainId, explorer } = status;
  const amountOf = (token: Hex, amount: string) => (
    <bdi>{sayAmount(amount, { chainId, token }, chains, say)}</bdi>
  );
  const settled = (as: "withAmount" | "inTransaction", hash: Hex, amount: ReactNode) => (
    <Said
      key={hash}
      as={as}
      amount={amount}
      transaction={<Transaction hash={hash} explorer={explorer} />}
    />
  );
  const held = execution && amountOf(status.token, execution.held);
  const numbered = (name: string, at: number) => (at === 0 ? name : `${name}, ${at + 1}`);
  return [
    [say("holds"), amountOf(status.token, status.balance)],
    ...(execution && held
      ? [[say("executed"), settled("withAmount", execution.transactionHash, held)] as const]
      : []),
    ...recoveries.map(({ token, amount, transactionHash }, at): [string, ReactNode] => [
      numbered(say("returned"), at),
      settled("inTransaction", transactionHash, amountOf(token, amount)),
    ]),
    ...recoverable.map(({ token, amount }, at): [string, ReactNode] => [
      numbered(say("toBeReturned"), at),
      amountOf(token, amount),
    ]),
  ];
}

type PayHereProps = { record: AddressRecord; localNode: string; status: ServiceStatus | undefined };

/** Shows a button that pays an address of the local chain. Then shows the payment's progress. */
export function PayHere({ record: { address, intent }, localNode, status }: PayHereProps) {
  const { say } = useSpeech();
  const payment = useMutation({ mutationFn: () => payAt(localNode, address, intent) });
  const isOpen = status?.state === "unfunded" && !payment.isSuccess;
  return (
    <div>
      {isOpen && (
        <div className="flex flex-wrap items-center gap-3">
          <Button look="primary" busy={payment.isPending} onClick={() => payment.mutate()}>
            {say("payLocal")}
          </Button>
          <p className="text-sm text-soft">{say("payLocalText")}</p>
        </div>
      )}
      {isOpen && payment.error && <Unpaid error={payment.error} {...{ address, localNode }} />}
      <div role="status">
        {payment.data && status?.state !== "executed" && (
          <p>
            <Said
              as="paidLocal"
              transaction={<Transaction hash={payment.data} explorer={null} />}
            />
          </p>
        )}
        {payment.data && status?.state === "executed" && (
          <Notice tone="good" title={say("isExecuted")}>
            <p>
              <Said
                as="executedLocal"
                receipt={
                  <a className="link" href={`/receipt/${address}`} target="_blank" rel="noreferrer">
                    {say("receipt")}
                  </a>
                }
              />
            </p>
          </Notice>
        )}
      </div>
    </div>
  );
}

type UnpaidProps = { error: Error; address: string; localNode: string };

/**
 * Shows the node's error. If this browser cannot reach the node, shows a command for the terminal.
 */
function Unpaid({ error, address, localNode }: UnpaidProps) {
  const { say } = useSpeech();
  const pasted = { name: say("terminal"), text: `npm run --silent pay -- ${address}` };
  return (
    <div className="mt-3 space-y-3">
      <Notice tone="bad" title={say("notPaid")}>
        <p>
          {error instanceof RpcError ? (
            <bdi>{error.message}</bdi>
          ) : (
            <Said as="localAway" node={<code>{localNode}</code>} />
          )}
        </p>
      </Notice>
      <Snippet samples={[pasted]} label={say("payLocal")} />
    </div>
  );
}
