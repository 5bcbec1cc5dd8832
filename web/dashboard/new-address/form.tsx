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

type Draft = { at: string; amount: string; receiver: string; recovery: string; span: string };

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
  const recovery = draft.recovery.trim() || receiver;
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
  /** What was found before holds no more. */
  onChange: () => void;
};

export function PaymentForm({ config, busy, onSubmit, onChange }: PaymentFormProps) {
  const choices = choicesOf(config);
  const [draft, setDraft] = useState<Draft>({
    ...{ at: "0", amount: "", receiver: "", recovery: "", span: "1" },
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
      <AddressField
        label="Where money goes that cannot be used"
        value={draft.recovery}
        onChange={change("recovery")}
        placeholder="The same"
        hint="Late, surplus and mistaken payments. Best the payer's own; else whoever receives it."
      />
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
