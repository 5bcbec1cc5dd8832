import { type ComponentProps, type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Notice } from "../../ui/notice.tsx";
import type { Config, Token } from "../api.ts";
import type { SimplePayment } from "../samples.ts";
import { parseUnits } from "./units.ts";

const hourSeconds = 3_600;
const spans = [
  { id: "1-hour", name: "1 hour", seconds: hourSeconds },
  { id: "1-day", name: "1 day", seconds: 24 * hourSeconds },
  { id: "7-days", name: "7 days", seconds: 7 * 24 * hourSeconds },
  { id: "30-days", name: "30 days", seconds: 30 * 24 * hourSeconds },
] as const;

const addressPattern = /^0x[0-9a-fA-F]{40}$/;
const addressFault = (text: string) =>
  text.trim() === "" || addressPattern.test(text.trim())
    ? undefined
    : "An address is 0x and 40 hex characters.";

type Owner = "customer" | "receiver";
type Draft = {
  at: string;
  amount: string;
  receiver: string;
  /** Whose money it is that cannot be used: nobody's until it is answered. */
  owner: Owner | "";
  recovery: string;
  span: string;
};

type Choice = { id: string; chain: Config["chains"][number]; token: Token; name: string };

const choicesOf = ({ chains }: Config): Choice[] =>
  chains.flatMap((chain) =>
    chain.tokens.map((token) => ({
      ...{ chain, token, name: `${token.symbol} on ${chain.name}` },
      id: `${chain.chainId}-${token.address}`,
    })),
  );

/** Undefined where a field is missing or wrong. */
function paymentOf(draft: Draft, choice: Choice | undefined, amount: string | undefined) {
  const receiver = draft.receiver.trim();
  const recovery = { customer: draft.recovery.trim(), receiver, "": "" }[draft.owner];
  if (!choice || !amount || ![receiver, recovery].every((text) => addressPattern.test(text))) {
    return;
  }
  const { seconds } = spans[Number(draft.span)]!;
  const expirationTimestamp = Math.floor(Date.now() / 1000) + seconds;
  const { chainId } = choice.chain;
  return { chainId, token: choice.token.address, amount, receiver, recovery, expirationTimestamp };
}

type PaymentFormProps = {
  config: Config;
  busy: boolean;
  onSubmit: (asked: { payment: SimplePayment; reference: string }) => void;
  /** Forgets what was found before. */
  onChange: () => void;
};

export function PaymentForm({ config, busy, onSubmit, onChange }: PaymentFormProps) {
  const choices = choicesOf(config);
  const [draft, setDraft] = useState<Draft>({
    ...{ at: "0", amount: "", receiver: "", owner: "", recovery: "", span: "1" },
  });
  const [reference, setReference] = useState("");
  const choice = choices[Number(draft.at)];
  const units = choice && parseUnits(draft.amount, choice.token.decimals);
  const change = (name: keyof Draft) => (event: { target: { value: string } }) => {
    setDraft({ ...draft, [name]: event.target.value });
    onChange();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const payment = paymentOf(draft, choice, units);
    if (payment) onSubmit({ payment, reference: reference.trim() });
  };
  if (!choice) return <NoChain />;
  const amountFault =
    draft.amount.trim() === "" || units
      ? undefined
      : `A number above zero, such as 12.5, with at most ${choice.token.decimals} decimals.`;
  return (
    <form onSubmit={submit} className="card space-y-4 p-5" aria-label="A simple payment">
      <div className="grid gap-4 sm:grid-cols-2">
        <NamedSelect label="Token" value={draft.at} onChange={change("at")} of={choices} />
        <Field
          label="Amount"
          value={draft.amount}
          onChange={change("amount")}
          placeholder="25"
          inputMode="decimal"
          autoComplete="off"
          required
          error={amountFault}
        />
      </div>
      <AddressField
        label="Who receives it"
        value={draft.receiver}
        onChange={change("receiver")}
        placeholder="0x…"
        required
        hint="A wallet or a contract that can pass tokens on."
      />
      <OwnerField draft={draft} change={change} />
      <div className="grid gap-4 sm:grid-cols-2">
        <NamedSelect
          label="Can be paid for"
          value={draft.span}
          onChange={change("span")}
          of={spans}
        />
        <Field
          label="Reference"
          value={reference}
          onChange={(event) => setReference(event.target.value)}
          placeholder="order-42"
          autoComplete="off"
          maxLength={128}
          hint="Optional, and shown to nobody but you."
        />
      </div>
      <Button type="submit" look="primary" busy={busy}>
        Make the address
      </Button>
    </form>
  );
}

const owners = [
  {
    id: "customer",
    name: "The customer",
    text: `It goes back to them by itself. Ask them for an address of their own wallet, not an
      exchange's.`,
  },
  {
    id: "receiver",
    name: "The receiver",
    text: `You get it, and it is on you to send it back. The payer's page says that this address is
      not theirs.`,
  },
] as const;

type OwnerProps = {
  draft: Draft;
  change: (name: keyof Draft) => (event: { target: { value: string } }) => void;
};

/** It is asked and never assumed: an address has one `recovery` for good. */
function OwnerField({ draft, change }: OwnerProps) {
  return (
    <fieldset className="space-y-2">
      <legend className="mb-1 font-medium">
        Who gets money that comes late, twice, too much or by mistake?
      </legend>
      {owners.map(({ id, name, text }) => (
        <label key={id} className="flex items-start gap-3 rounded-lg border border-line p-3">
          <input
            type="radio"
            name="owner"
            className="mt-1"
            value={id}
            checked={draft.owner === id}
            onChange={change("owner")}
            required
          />
          <span>
            <span className="block font-medium">{name}</span>
            <span className="block text-sm text-soft">{text}</span>
          </span>
        </label>
      ))}
      {draft.owner === "customer" && (
        <AddressField
          label="The customer's address"
          value={draft.recovery}
          onChange={change("recovery")}
          placeholder="0x…"
          required
        />
      )}
    </fieldset>
  );
}

function AddressField(props: ComponentProps<typeof Field> & { value: string }) {
  const error = addressFault(props.value);
  return <Field {...props} autoComplete="off" spellCheck={false} error={error} />;
}

type NamedSelectProps = Omit<ComponentProps<typeof Select>, "children"> & {
  of: readonly { id: string; name: string }[];
};

/** Its value is the place of what is chosen. */
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

const NoChain = () => (
  <Notice tone="warn" title="No chain is configured">
    The operator of this server has not listed a chain with a token yet.
  </Notice>
);
