import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { type Depth, webhooks } from "./api.ts";
import { useChange } from "./use-change.ts";

/** How many blocks deep what is told of each chain has to be. */
export function Depths({ chains }: { chains: readonly Depth[] }) {
  return (
    <section aria-label="Confirmations" className="card space-y-4 p-5">
      <h2 className="text-base">Confirmations</h2>
      <p className="text-sm text-soft">
        Blocks on top of what an event tells, before it is told. Fewer are sooner; what a
        reorganisation takes back is told as <code>address.reverted</code>.
      </p>
      {chains.map((chain) => (
        <DepthEntry key={chain.chainId} chain={chain} />
      ))}
    </section>
  );
}

function DepthEntry({ chain: { chainId, name, byDefault, chosen } }: { chain: Depth }) {
  const [text, setText] = useState(String(chosen ?? ""));
  const change = useChange(webhooks.setDepth);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const confirmations = text === "" ? null : Number(text);
    const said = `${name}: ${confirmations ?? byDefault} confirmations`;
    change.mutate({ chainId, confirmations }, { onSuccess: () => toast(said) });
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-3">
      <Field
        label={name}
        type="number"
        min="0"
        max="100"
        placeholder={String(byDefault)}
        hint={`0 to 100; empty: ${byDefault}, as the chain's`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button small type="submit" busy={change.isPending}>
        Save
      </Button>
    </form>
  );
}
