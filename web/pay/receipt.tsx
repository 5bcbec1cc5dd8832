// Shows the outcome when the calls have run or can no longer run. The outcome replaces the payment
// options.

import { type AddressRecord, type Hex, requestedAmount } from "executable-address";
import type { ProvedReceipt } from "executable-address/proof";
import type { ServiceStatus } from "executable-address/status";
import {
  ask,
  formatUnits,
  type News,
  type Standing,
  type Wallet,
} from "executable-address-element/page";
import { useEffect, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { GroupedAddress, Party, ShortParty } from "../shown/address-text.tsx";
import { explorerLink } from "../shown/explorer.ts";
import { MoneyFlow, shareOutcome, sumOf } from "../shown/money-flow.tsx";
import { nowSeconds } from "../shown/news.ts";
import { fetchProof, type Proved, useProved } from "../shown/proved.ts";
import { type Share, sharesIn, sumShares } from "../shown/shares.ts";
import { Explored, Transaction } from "../shown/transaction.tsx";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment } from "../shown/words/say-when.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Definitions } from "../ui/definition.tsx";
import { Identicon } from "../ui/drawn/identicon.tsx";
import { Notice } from "../ui/notice.tsx";
import { sleep } from "../ui/sleep.ts";
import { useWallets } from "./wallet/wallets.ts";

const texts = {
  executed: "executedText",
  expired: "expiredText",
  recovered: "recoveredText",
} as const;

type ReceiptProps = { standing: Standing; news: News };

export function Receipt({ standing, news }: ReceiptProps) {
  const { record, intent } = useAbout();
  const { status } = news;
  const state = standing.state as keyof typeof texts;
  const proved = useProved(record, status);
  const explorer = explorerLink(status?.explorer, "address", record.address);
  return (
    <div className="ask-all">
      <p className="mb-3">
        <Shortfall status={status} proved={proved} />
        <Said as={texts[state]} address={<ShortParty address={intent.recovery} />} />
      </p>
      <Lines status={status} proved={proved} />
      <div className="mt-4">
        <MoneyFlow
          status={status}
          simulation={undefined}
          proved={proved}
          nowSeconds={nowSeconds(news)}
          hasTransactions
        />
      </div>
      <Witness state={standing.state} />
      {explorer && (
        <p className="mt-3 text-sm">
          <Explored link={explorer}>
            <Said as="onExplorer" host={new URL(explorer).host} />
          </Explored>
        </p>
      )}
      <Keep />
    </div>
  );
}

/** Says how much money arrived if the amount was too low for the payment to complete. */
function Shortfall({ status, proved }: LinesProps) {
  const { intent, token, sayAmount } = useAbout();
  if (!status || status.execution) return null;
  const found = proved === "awaited" ? undefined : proved;
  const paid = sumShares(sharesIn(intent, found?.payments ?? [], 0n));
  const known = sumOf(intent, [...status.recoveries, ...status.recoverable]);
  // The status does not contain money that the owner of `recovery` moved with `rescue`. Such money
  // appears only in the payments.
  const arrived = paid > known ? paid : known;
  if (arrived === 0n || arrived >= BigInt(intent.amount)) return null;
  const received = formatUnits(`${arrived}`, token?.decimals ?? 0);
  return (
    <>
      <Said as="onlyArrived" received={received} amount={sayAmount(requestedAmount(intent))} />{" "}
    </>
  );
}

type LinesProps = { status: News["status"]; proved: Proved };

/** Shows the known facts: the payers, the amount, the address, the network, and the time. */
function Lines({ status, proved }: LinesProps) {
  const { record, facts, chainName, sayAmount, intent } = useAbout();
  const { say } = useSpeech();
  const event = status?.execution ?? status?.recoveries[0];
  const isAwaited = proved === "awaited";
  const found = isAwaited ? undefined : proved;
  const payments = found?.payments ?? [];
  const received =
    status?.execution && !isAwaited
      ? shareOutcome(intent, status, found?.execution?.moved).filter(isReceived)
      : [];
  return (
    <Definitions
      items={[
        ...(status?.execution
          ? [[say("paidBy"), <bdi key="paid">{sayAmount(status.execution.held)}</bdi>] as const]
          : []),
        ...(received.length > 0 || (status?.execution && isAwaited)
          ? [[say("receivedBy"), <Receivers key="to" received={received} />] as const]
          : []),
        [
          say("payAddress"),
          <span key="to" className="flex items-start gap-2">
            <Identicon address={record.address} />
            <GroupedAddress address={record.address} />
          </span>,
        ],
        ...(payments.length > 0 || isAwaited
          ? [
              [
                say("payer"),
                isAwaited ? (
                  <div key="payer" className="payers-waiting" />
                ) : (
                  <Payers key="payer" {...{ payments, explorer: status?.explorer }} />
                ),
              ] as const,
            ]
          : []),
        ...(facts.requester ? [[say("by"), facts.requester] as const] : []),
        [say("network"), <Said key="on" as="networkIs" chain={chainName} id={intent.chainId} />],
        ...(event
          ? [
              [
                say("when"),
                <When key="when" {...{ event, settledAt: status?.settledAt }} />,
              ] as const,
              [
                say("transaction"),
                <Transaction key="tx" hash={event.transactionHash} explorer={status?.explorer} />,
              ] as const,
            ]
          : []),
        [
          say("proof"),
          <a key="proof" className="link" href={`/receipt/${record.address}`}>
            {say("proofText")}
            <span className="hidden print:inline">
              : {`${location.origin}/receipt/${record.address}`}
            </span>
          </a>,
        ],
      ]}
    />
  );
}

/** Returns false for returned amounts, and for amounts whose recipient is unknown. */
const isReceived = ({ who, isReturn }: Share): boolean => who.startsWith("0x") && !isReturn;

/** Lists the accounts that received money from the calls. Empty while the proof is loading. */
function Receivers({ received }: { received: readonly Share[] }) {
  const { sayHeld } = useAbout();
  return (
    <ul className="receivers space-y-1">
      {received.map(({ who, token, units }) => (
        <li key={who + token}>
          <bdi>{sayHeld({ token, amount: `${units}` })}</bdi> · <Party address={who} />
        </li>
      ))}
    </ul>
  );
}

type WhenProps = { event: { blockNumber: number }; settledAt: number | null | undefined };

/** Shows the block and, if the status contains it, the block's time. */
function When({ event, settledAt }: WhenProps) {
  const { language } = useSpeech();
  return (
    <>
      {settledAt && (
        <>
          <time dateTime={new Date(settledAt * 1000).toISOString()}>
            {sayMoment(settledAt, language)}
          </time>
          {" · "}
        </>
      )}
      <Said as="inBlock" block={event.blockNumber} />
    </>
  );
}

type PayersProps = { payments: ProvedReceipt["payments"]; explorer: string | null | undefined };

/** Lists payers, amounts, and transactions from the logs. */
function Payers({ payments, explorer }: PayersProps) {
  const { intent, sayAmount } = useAbout();
  const { say } = useSpeech();
  return (
    <ul className="space-y-1">
      {payments.map((payment) => (
        <li key={payment.transactionHash}>
          {sharesIn(intent, [payment], 0n).map(({ who, units }) => (
            <p key={who}>
              <bdi>{sayAmount(`${units}`)}</bdi> ·{" "}
              {who.startsWith("0x") ? <Party address={who} /> : say("otherPayers")}
            </p>
          ))}
          <p className="text-soft">
            <Transaction hash={payment.transactionHash} explorer={explorer} />
          </p>
        </li>
      ))}
    </ul>
  );
}

/** Buttons to print the receipt and to share its link. */
function Keep() {
  const { say } = useSpeech();
  const [isRefused, setRefused] = useState(false);
  const link = window.location.origin + window.location.pathname + window.location.hash;
  const share = () =>
    navigator.share({ title: document.title, url: link }).catch((error: Error) => {
      if (error.name !== "AbortError") setRefused(true);
    });
  return (
    <div className="mt-4 flex flex-wrap items-center gap-2 print:hidden">
      <Button small onClick={() => window.print()}>
        {say("print")}
      </Button>
      {"share" in navigator && !isRefused ? (
        <Button small onClick={() => void share()}>
          {say("share")}
        </Button>
      ) : (
        <CopyButton text={link} what={say("link")}>
          {say("link")}
        </CopyButton>
      )}
    </div>
  );
}

/**
 * Lists money that was or can be returned, with the `recovery` address that receives it. For money
 * that was already returned, also shows the transaction.
 */
export function OtherMoney({ status }: { status: ServiceStatus }) {
  const { intent, sayHeld } = useAbout();
  const { say } = useSpeech();
  const recovery = (
    <code dir="ltr" className="inline-block break-all">
      {intent.recovery}
    </code>
  );
  return (
    <ul className="space-y-3">
      {status.recoveries.map(({ token, amount, transactionHash, logIndex }) => (
        <li key={`${transactionHash}:${logIndex}`}>
          <p>
            <Said as="otherWent" amount={sayHeld({ token, amount })} address={recovery} />
          </p>
          <p className="text-sm text-soft">
            {say("transaction")} <Transaction hash={transactionHash} explorer={status.explorer} />
          </p>
        </li>
      ))}
      {status.recoverable.map(({ token, amount }) => (
        <li key={token}>
          <Said as="otherWill" amount={sayHeld({ token, amount })} address={recovery} />
        </li>
      ))}
      {status.recoverable.length > 0 && (
        <li className="text-sm text-soft">
          {isReturning(status) && say("sentSoon")} {say("anyoneSends")}
        </li>
      )}
    </ul>
  );
}

/**
 * Returns whether the executor is returning money to `recovery`. Returns true if the executor has
 * sent a transaction, or is waiting and reports no reason.
 */
const isReturning = ({ executor }: ServiceStatus): boolean =>
  executor?.purpose === "recover" &&
  (executor.phase === "sent" || (executor.phase === "waiting" && executor.reason === null));

type Verdict = { is: "unknown" } | { is: "contradicted" } | { is: "confirmed"; block: number };

/**
 * If the wallet's node contradicts the state, a reorganization may be the cause. The page therefore
 * repeats the check after this delay.
 */
const againMs = 5_000;

/**
 * Shows whether the payer's wallet confirms a final state. The wallet's node does not depend on the
 * service. The node provides the hash of a block. The service's proof must show the outcome in this
 * block. Shows nothing if no connected wallet can check the outcome.
 */
export function Witness({ state }: { state: Standing["state"] }) {
  const { say } = useSpeech();
  const verdict = useVerdict(state);
  if (verdict.is === "unknown") return null;
  if (verdict.is === "contradicted") {
    return (
      <Notice tone="bad">
        <p>{say("walletContradicts")}</p>
      </Notice>
    );
  }
  return (
    <p className="mt-3 text-sm text-soft">
      <Said as="walletConfirms" block={verdict.block} />
    </p>
  );
}

function useVerdict(state: Standing["state"]): Verdict {
  const { record } = useAbout();
  const wallets = useWallets();
  const [verdict, setVerdict] = useState<Verdict>({ is: "unknown" });
  useEffect(() => {
    let isGone = false;
    const isExecuted = state === "executed";
    const find = async (): Promise<Verdict> => {
      for (const { provider } of wallets) {
        const request = () => requestVerdict(provider, record, isExecuted).catch(() => undefined);
        let found = await request();
        if (found?.is === "contradicted") {
          await sleep(againMs);
          found = await request();
        }
        if (found) return found;
      }
      return { is: "unknown" };
    };
    void find().then((found) => !isGone && setVerdict(found));
    return () => {
      isGone = true;
    };
  }, [wallets, record, state]);
  return verdict;
}

/**
 * @returns undefined if no account is connected, or if the wallet uses another chain. Also
 *   undefined if a block or the proof is missing
 */
async function requestVerdict(
  provider: Wallet["provider"],
  record: AddressRecord,
  isExecuted: boolean,
): Promise<Verdict | undefined> {
  const accounts = await ask<string[]>(provider, "eth_accounts");
  const chainId = Number(await ask<string>(provider, "eth_chainId"));
  if (accounts.length === 0 || chainId !== record.intent.chainId) return undefined;
  const proof = await fetchProof(record.address);
  if (!proof) return undefined;
  const blocks = [proof.block, ...(proof.execution ? [proof.execution.block] : [])];
  const found = await Promise.all(blocks.map(({ number }) => requestHash(provider, number)));
  const trusted = found.filter((hash) => hash !== undefined).map((hash) => ({ chainId, hash }));
  if (trusted.length < blocks.length) return undefined;
  const { verifyAddressProof } = await import("executable-address/proof");
  try {
    const { outcome, block } = verifyAddressProof(record, proof, trusted);
    const isSame = (outcome === "executed") === isExecuted;
    return isSame ? { is: "confirmed", block: block.number } : { is: "contradicted" };
  } catch {
    return { is: "contradicted" };
  }
}

async function requestHash(provider: Wallet["provider"], number: number): Promise<Hex | undefined> {
  const at = [`0x${number.toString(16)}`, false];
  return (await ask<{ hash: Hex } | null>(provider, "eth_getBlockByNumber", at))?.hash;
}
