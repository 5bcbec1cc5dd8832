// The form for a simple payment. Converts the form's fields to an intent.

import { isAddress } from "executable-address";
import type { Token } from "executable-address-element/page";
import { type ComponentProps, type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import type { Config } from "../api.ts";
import { readUnits } from "../money.ts";
import { Choices, Field, Select } from "../parts/field.tsx";
import { saySpan } from "../parts/say-time.ts";
import type { SimplePayment } from "../samples.ts";
import { useSpeech } from "../words/speech.ts";
import type { Say } from "../words/words.ts";

const hourSeconds = 3_600;
const spans = [
  { count: 1, unit: "hour", seconds: hourSeconds },
  { count: 1, unit: "day", seconds: 24 * hourSeconds },
  { count: 7, unit: "day", seconds: 7 * 24 * hourSeconds },
  { count: 30, unit: "day", seconds: 30 * 24 * hourSeconds },
] as const;

const isAddressFault = (text: string) => text.trim() !== "" && !isAddress(text.trim());

type Owner = "customer" | "receiver";
type Draft = {
  at: string;
  amount: string;
  receiver: string;
  /** The recipient of late and excess payments. Empty until the user has chosen. */
  owner: Owner | "";
  recovery: string;
  span: string;
  acceptsLess: boolean;
};

type Choice = { id: string; chain: Config["chains"][number]; token: Token; name: string };

const listChoices = ({ chains }: Config, say: Say): Choice[] =>
  chains.flatMap((chain) =>
    chain.tokens.map((token) => ({
      ...{ chain, token, name: say("tokenOn", { token: token.symbol, chain: chain.name }) },
      id: `${chain.chainId}-${token.address}`,
    })),
  );

/** Returns undefined if a field is missing or invalid. */
function makePayment(draft: Draft, choice: Choice | undefined, amount: string | undefined) {
  const receiver = draft.receiver.trim();
  const recovery = { customer: draft.recovery.trim(), receiver, "": "" }[draft.owner];
  if (!choice || !amount || ![receiver, recovery].every(isAddress)) {
    return;
  }
  const { seconds } = spans[Number(draft.span)]!;
  const expirationTimestamp = Math.floor(Date.now() / 1000) + seconds;
  const { chainId } = choice.chain;
  const token = choice.token.address;
  const least = draft.acceptsLess ? leastOf(BigInt(amount)) : undefined;
  return { chainId, token, amount, least, receiver, recovery, expirationTimestamp };
}

/**
 * Returns the smallest amount that is accepted: 1% less than `amount`, rounded up. For amounts
 * below 100 base units, returns `amount` itself.
 */
const leastOf = (amount: bigint) => `${amount - amount / 100n}`;

type Typed = { target: { value: string } };

const emptyDraft: Draft = {
  ...{ at: "0", amount: "", receiver: "", owner: "", recovery: "", span: "1" },
  acceptsLess: false,
};

type PaymentFormProps = {
  config: Config;
  busy: boolean;
  onSubmit: (next: { payment: SimplePayment; reference: string }) => void;
  /** Clears the results of the last check. */
  onChange: () => void;
};

export function PaymentForm({ config, busy, onSubmit, onChange }: PaymentFormProps) {
  const { say } = useSpeech();
  const choices = listChoices(config, say);
  const spanNames = spans.map(({ count, unit, seconds }) => ({
    id: `${seconds}`,
    name: saySpan(count, unit, "long"),
  }));
  const [draft, setDraft] = useState(emptyDraft);
  const [reference, setReference] = useState("");
  const choice = choices[Number(draft.at)];
  const units = choice && readUnits(draft.amount, choice.token.decimals);
  const update = (next: Draft) => {
    setDraft(next);
    onChange();
  };
  const change = (name: keyof Draft) => (event: Typed) =>
    update({ ...draft, [name]: event.target.value });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const payment = makePayment(draft, choice, units);
    if (payment) onSubmit({ payment, reference: reference.trim() });
  };
  if (!choice) return <NoChain />;
  return (
    <form onSubmit={submit} className="card space-y-4 p-5" aria-label={say("simplePayment")}>
      <div className="grid gap-4 sm:grid-cols-2">
        <NamedSelect label={say("token")} value={draft.at} onChange={change("at")} of={choices} />
        <AmountField
          value={draft.amount}
          decimals={choice.token.decimals}
          onChange={change("amount")}
        />
      </div>
      <AddressField
        label={say("whoReceives")}
        value={draft.receiver}
        onChange={change("receiver")}
        placeholder="0x…"
        required
        hint={say("whoReceivesHint")}
      />
      <ToleranceField
        checked={draft.acceptsLess}
        onChange={(acceptsLess) => update({ ...draft, acceptsLess })}
      />
      <OwnerField draft={draft} change={change} />
      <div className="grid gap-4 sm:grid-cols-2">
        <NamedSelect
          label={say("payableFor")}
          value={draft.span}
          onChange={change("span")}
          of={spanNames}
        />
        <Field
          label={say("reference")}
          value={reference}
          onChange={(event) => setReference(event.target.value)}
          placeholder="order-42"
          autoComplete="off"
          maxLength={128}
          hint={say("referenceHint")}
        />
      </div>
      <Button type="submit" look="primary" busy={busy}>
        {say("makeAddress")}
      </Button>
    </form>
  );
}

type AmountProps = { value: string; decimals: number; onChange: (event: Typed) => void };

/** Shows an error if the text is not a valid amount of the token. */
function AmountField({ value, decimals, onChange }: AmountProps) {
  const { say } = useSpeech();
  const isFault = value.trim() !== "" && !readUnits(value, decimals);
  return (
    <Field
      label={say("amount")}
      value={value}
      onChange={onChange}
      placeholder="25"
      inputMode="decimal"
      autoComplete="off"
      required
      error={isFault ? say("amountFault", { n: decimals }) : undefined}
    />
  );
}

type ToleranceProps = { checked: boolean; onChange: (checked: boolean) => void };

function ToleranceField({ checked, onChange }: ToleranceProps) {
  const { say } = useSpeech();
  return (
    <label className="flex items-start gap-3">
      <input
        type="checkbox"
        className="mt-1"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>
        <span className="block font-medium">{say("acceptLess")}</span>
        <span className="block text-sm text-soft">{say("acceptLessHint")}</span>
      </span>
    </label>
  );
}

const owners = [
  { id: "customer", name: "theCustomer", text: "theCustomerText" },
  { id: "receiver", name: "theReceiver", text: "theReceiverText" },
] as const;

type OwnerProps = {
  draft: Draft;
  change: (name: keyof Draft) => (event: Typed) => void;
};

/**
 * Asks who receives late and excess payments. There is no default, because the `recovery` of an
 * address can never change.
 */
function OwnerField({ draft, change }: OwnerProps) {
  const { say } = useSpeech();
  const of = owners.map(({ id, name, text }) => ({ id, name: say(name), text: say(text) }));
  return (
    <Choices
      legend={say("whoGets")}
      name="owner"
      value={draft.owner}
      onChange={change("owner")}
      of={of}
    >
      {draft.owner === "customer" && (
        <AddressField
          label={say("customersAddress")}
          value={draft.recovery}
          onChange={change("recovery")}
          placeholder="0x…"
          required
        />
      )}
    </Choices>
  );
}

function AddressField(props: ComponentProps<typeof Field> & { value: string }) {
  const { say } = useSpeech();
  const error = isAddressFault(props.value) ? say("addressFault") : undefined;
  return <Field {...props} dir="ltr" autoComplete="off" spellCheck={false} error={error} />;
}

type NamedSelectProps = Omit<ComponentProps<typeof Select>, "children"> & {
  of: readonly { id: string; name: string }[];
};

/** The value of each option is its index. */
function NamedSelect({ of, ...props }: NamedSelectProps) {
  return (
    <Select {...props}>
      {of.map(({ id, name }, at) => (
        <option key={id} value={at}>
          {name}
        </option>
      ))}
    </Select>
  );
}

function NoChain() {
  const { say } = useSpeech();
  return (
    <Notice tone="warn" title={say("noChain")}>
      {say("noChainText")}
    </Notice>
  );
}
