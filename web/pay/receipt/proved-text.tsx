// Shows the proven parts of a receipt as text and as charts.

import { requestedAmount } from "executable-address";
import type { ProvedReceipt } from "executable-address/proof";
import {
  type Chain,
  findKnownToken,
  formatUnits,
  inertText,
  isSame,
  shortAddress,
} from "executable-address-element/page";
import type { ReactNode } from "react";
import { type Share, sharesIn, sharesOut, sumShares } from "../../shown/shares.ts";
import { sayMoment } from "../../shown/words/say-when.ts";
import { Definitions } from "../../ui/definition.tsx";
import { Flow, type Stream } from "../../ui/drawn/flow.tsx";
import { Identicon } from "../../ui/drawn/identicon.tsx";
import { type SaidMoment, Timeline } from "../../ui/drawn/timeline.tsx";
import { type Key, Said, useSpeech } from "./words.ts";

/** Untrusted text. Characters that hide or reorder text are escaped. */
const Inert = ({ text }: { text: string }) => <bdi>{inertText(text)}</bdi>;
const Code = ({ text }: { text: string }) => (
  <code>
    <Inert text={text} />
  </code>
);
const Account = ({ address }: { address: string }) => (
  <span>
    <Identicon address={address} isInline />
    <Code text={address} />
  </span>
);

/**
 * `chain` contains names and decimals from the service or the file. These values are not verified.
 */
type ProvedProps = { proved: ProvedReceipt; chain: Chain | undefined };

/**
 * Shows a receipt whose proof is valid. The proof does not show that its blocks belong to the
 * chain.
 */
export function ProvedText({ proved, chain }: ProvedProps) {
  const { record, outcome, execution, payments } = proved;
  const { intent } = record;
  const { say } = useSpeech();
  const sayAmount = useAmounts(proved, chain);
  const paid = payments.flatMap((payment) =>
    sharesIn(intent, [payment], 0n).map(({ who, units }) => (
      <Said
        key={`${payment.transactionHash} ${who}`}
        as="paidBy"
        amount={sayAmount(`${units}`)}
        from={who.startsWith("0x") ? <Account address={who} /> : say("otherPayers")}
        hash={<Code text={payment.transactionHash} />}
      />
    )),
  );
  const moved = (execution?.moved ?? []).map(({ token, to, amount }, at) => (
    <Said
      key={at.toString()}
      as="movedTo"
      amount={sayAmount(amount, token)}
      to={<Account address={to} />}
    />
  ));
  const calls = intent.calls.map(({ target, function: signature, args }, at) => (
    <span key={at.toString()}>
      <Account address={target} /> <Code text={signature} /> <Code text={JSON.stringify(args)} />
    </span>
  ));
  return (
    <>
      <p>{say(outcome)}</p>
      <Facts proved={proved} chain={chain} />
      <MoneyFlow proved={proved} chain={chain} />
      <Moments proved={proved} chain={chain} />
      <p>{say("notProved")}</p>
      <List title="paid" items={paid} none={say("noPayment")} />
      {paid.length > 0 && <p>{say("somePaid")}</p>}
      <List title="purpose" items={calls} none="" />
      {execution && <List title="moved" items={moved} none={say("nothing")} />}
    </>
  );
}

type ListProps = { title: Key; items: readonly ReactNode[]; none: string };

function List({ title, items, none }: ListProps) {
  const { say } = useSpeech();
  return (
    <>
      <h2>{say(title)}</h2>
      {items.length > 0 ? (
        <ol>
          {items.map((item, at) => (
            <li key={at.toString()}>{item}</li>
          ))}
        </ol>
      ) : (
        <p>{none}</p>
      )}
    </>
  );
}

function Facts({ proved, chain }: ProvedProps) {
  const { record, block, execution } = proved;
  const { intent } = record;
  const { say } = useSpeech();
  const sayAmount = useAmounts(proved, chain);
  const id = String(intent.chainId);
  const name = chain && <Inert text={chain.name} />;
  return (
    <Definitions
      items={[
        [say("requested"), <bdi key="requested">{sayAmount(requestedAmount(intent))}</bdi>],
        [say("token"), <Account key="token" address={intent.token} />],
        [say("address"), <Account key="address" address={record.address} />],
        [say("recovery"), <Account key="recovery" address={intent.recovery} />],
        [
          say("network"),
          name ? (
            <Said key="network" as="namedChain" name={name} id={id} />
          ) : (
            <Said key="network" as="chain" id={id} />
          ),
        ],
        [say("asOf"), <AtBlock key="block" {...block} />],
        ...(execution
          ? [
              [say("executedAt"), <AtBlock key="executed" {...execution.block} />] as const,
              [say("byTransaction"), <Code key="hash" text={execution.transactionHash} />] as const,
              [say("held"), <bdi key="held">{sayAmount(execution.held)}</bdi>] as const,
              [say("left"), <bdi key="left">{sayAmount(execution.left)}</bdi>] as const,
            ]
          : []),
      ]}
    />
  );
}

function AtBlock({ number, timestamp }: { number: number; timestamp: number }) {
  const { language } = useSpeech();
  return <Said as="atBlock" number={number} time={sayMoment(timestamp, language)} />;
}

/**
 * Shows a diagram of payers and recipients. Shows nothing while the intent is open, or if there are
 * no recipients.
 */
function MoneyFlow({ proved, chain }: ProvedProps) {
  const { record, execution, outcome, payments } = proved;
  const { intent } = record;
  const { say } = useSpeech();
  const sayAmount = useAmounts(proved, chain);
  const paid = sumShares(sharesIn(intent, payments, 0n));
  const left = BigInt(execution?.left ?? 0);
  const taken = execution ? BigInt(execution.held) - left : 0n;
  // Money that the calls did not use, or that arrived later, can only go to `recovery`.
  const returned = paid - taken > left ? paid - taken : left;
  const to = outcome === "open" ? [] : sharesOut(intent, execution, returned);
  if (to.length === 0) return null;
  const streamFrom = ({ who, token, units, isReturn = false }: Share): Stream => ({
    key: `${who} ${token} ${isReturn}`,
    name: !who.startsWith("0x") ? (
      say(who as "payers")
    ) : (
      <span title={who}>
        <Identicon address={who} isInline />
        {isReturn ? say("recovery") : <code>{shortAddress(who)}</code>}
      </span>
    ),
    said: sayAmount(`${units}`, token),
    units: isSame(token, intent.token) ? units : 0n,
    isReturn,
  });
  return (
    <Flow
      label={say("flow")}
      from={sharesIn(intent, payments, taken + returned).map(streamFrom)}
      to={to.map(streamFrom)}
    />
  );
}

function Moments({ proved, chain }: ProvedProps) {
  const { record, block, execution, payments } = proved;
  const { intent } = record;
  const { say, language } = useSpeech();
  const sayAmount = useAmounts(proved, chain);
  const end = intent.expirationTimestamp;
  const closed = Math.min(end, execution?.block.timestamp ?? end);
  const moments: Omit<SaidMoment, "said">[] = [
    ...payments.map((payment) => ({
      ...{ name: say("paid"), seconds: payment.block.timestamp },
      amount: sayAmount(`${sumShares(sharesIn(intent, [payment], 0n))}`),
      ...(payment.block.timestamp > closed && { is: "late" as const }),
    })),
    ...(execution ? [{ name: say("executedAt"), seconds: execution.block.timestamp }] : []),
    { name: say("asOf"), seconds: block.timestamp, is: "now" },
    { name: say("expires"), seconds: end, is: "end" },
  ];
  const said = moments.map((moment) => ({
    ...moment,
    said: sayMoment(moment.seconds, language),
  }));
  return <Timeline label={say("times")} moments={said} dir={language.dir} />;
}

/** Returns a function that formats an amount of a token, by default the intent's token. */
function useAmounts({ record }: ProvedReceipt, chain: Chain | undefined) {
  const { intent } = record;
  const { say } = useSpeech();
  const listed = chain?.tokens.find(({ address }) => isSame(address, intent.token));
  const named = findKnownToken(intent.chainId, intent.token) ?? listed;
  return (amount: string, token: string = intent.token): string => {
    const units = formatUnits(amount, 0);
    if (!isSame(token, intent.token)) return say("unitsOf", { amount: units, token });
    if (!named) return say("units", { amount: units });
    const shown = `${formatUnits(amount, named.decimals)} ${inertText(named.symbol)}`;
    return `${shown} ${say("inUnits", { amount: units })}`;
  };
}
