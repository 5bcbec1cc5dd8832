import type { AddressRecord } from "executable-address";
import { useEffect } from "react";
import { CopyButton } from "../ui/copy.tsx";
import { Definitions } from "../ui/definition.tsx";
import { Badge, Notice } from "../ui/notice.tsx";
import { Time } from "../ui/time.tsx";
import { Calls } from "./calls.tsx";
import type { Chain, Token } from "./chains.ts";
import { useNowSeconds } from "./now.ts";
import { owed, paymentLink } from "./payment.ts";
import { QrCode } from "./qr-code.tsx";
import { findToken, hazardsOf, sayAmount } from "./reading.ts";
import { type Following, useStatus } from "./status.ts";
import { StatusLine } from "./status-line.tsx";
import { WalletButtons } from "./wallet-buttons.tsx";

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
    document.title = `Pay ${amount} · Executable address`;
  }, [amount]);
  const hazards = hazardsOf(intent, chains, nowSeconds);
  return (
    <div className="space-y-5">
      <section className="card p-5 sm:p-6">
        <div className="flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            <p className="text-soft">Pay exactly</p>
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
      <HowToPay
        record={record}
        token={token}
        following={following}
        isExpired={nowSeconds > intent.expirationTimestamp}
      />
      <Otherwise record={record} />
      <Evidence record={record} />
    </div>
  );
}

type HowProps = {
  record: AddressRecord;
  token: Token | undefined;
  following: Following;
  isExpired: boolean;
};
const closed = ["funded", "executed", "expired", "recovered"];

/** How to pay, unless paying now would only send money to `recovery`. */
function HowToPay({ record, token, following, isExpired }: HowProps) {
  const { status } = following;
  const { address, intent } = record;
  if (isExpired || (status && closed.includes(status.state))) {
    return (
      <Notice title={status?.state === "funded" ? "It is paid" : "Nothing to pay now"}>
        <p>Whatever is sent to this address from here on goes to its recovery address.</p>
      </Notice>
    );
  }
  const amount = owed(intent.amount, status?.balance ?? "0");
  const link = paymentLink(record, amount);
  return (
    <section aria-labelledby="pay" className="card p-5 sm:p-6">
      <h2 id="pay" className="mb-4">
        Pay it
      </h2>
      <div className="flex flex-col gap-6 sm:flex-row">
        <QrCode text={link} label="Payment link as a QR code" />
        <div className="min-w-0 flex-1 space-y-4">
          {amount !== intent.amount && (
            <p className="font-semibold">Still to pay: {sayAmount(amount, token)}</p>
          )}
          <div>
            <p className="text-sm text-soft">Address</p>
            <div className="flex items-start gap-2">
              <code className="pt-1 break-all">{address}</code>
              <CopyButton look="bare" text={address} what="address" />
            </div>
          </div>
          <WalletButtons record={record} amount={amount} />
          <p>
            <a href={link} className="link">
              Open in a wallet app
            </a>
          </p>
        </div>
      </div>
    </section>
  );
}

function Otherwise({ record: { intent } }: { record: AddressRecord }) {
  return (
    <section aria-labelledby="otherwise" className="card p-5 sm:p-6">
      <h2 id="otherwise" className="mb-1">
        If it does not happen
      </h2>
      <p className="mb-4 text-soft">
        Money that is late, too much, of another token or on another chain goes to the recovery
        address. Whoever made this address chose it: ask them if it is not yours.
      </p>
      <Definitions
        items={[
          [
            "Recovery address",
            <code key="to" className="break-all">
              {intent.recovery}
            </code>,
          ],
          ["Expires", <Time key="at" at={intent.expirationTimestamp * 1000} />],
        ]}
      />
    </section>
  );
}

function Evidence({ record }: { record: AddressRecord }) {
  const { intent } = record;
  return (
    <details className="card p-5 sm:p-6">
      <summary className="cursor-pointer font-semibold">How this was checked</summary>
      <p className="my-3 text-soft">
        The address is a hash of the words above. Your browser worked it out again from them and
        from the factory that is built into this page; the names and decimals of tokens and the
        state are this server's word.
      </p>
      <Definitions
        items={[
          [
            "Factory",
            <code key="factory" className="break-all">
              {record.factory}
            </code>,
          ],
          [
            "Token",
            <code key="token" className="break-all">
              {intent.token}
            </code>,
          ],
          [
            "Base units",
            <code key="amount" className="break-all">
              {intent.amount}
            </code>,
          ],
          ["Chain", intent.chainId],
          [
            "Salt",
            <code key="salt" className="break-all">
              {intent.salt}
            </code>,
          ],
          [
            "Terms",
            <CopyButton key="terms" text={record.terms} what="terms">
              Copy {(record.terms.length - 2) / 2} bytes
            </CopyButton>,
          ],
          [
            "Without a server",
            <a key="link" className="link" href={`/a/#terms=${record.terms}`}>
              This page from the terms alone
            </a>,
          ],
        ]}
      />
    </details>
  );
}
