import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.tsx";
import type { Depth } from "../api.ts";
import { Field } from "../parts/field.tsx";
import { Said, useSpeech } from "../words/speech.ts";
import { webhooks } from "./api.ts";
import { useChange } from "./use-change.ts";

/** How many blocks deep what is told of each chain has to be. */
export function Depths({ chains }: { chains: readonly Depth[] }) {
  const { say } = useSpeech();
  return (
    <section aria-label={say("confirmations")} className="card space-y-4 p-5">
      <h2 className="text-base">{say("confirmations")}</h2>
      <p className="text-sm text-soft">
        <Said as="confirmationsText" event={<code>address.reverted</code>} />
      </p>
      {chains.map((chain) => (
        <DepthEntry key={chain.chainId} chain={chain} />
      ))}
    </section>
  );
}

function DepthEntry({ chain: { chainId, name, byDefault, chosen } }: { chain: Depth }) {
  const { say } = useSpeech();
  const [text, setText] = useState(String(chosen ?? ""));
  const change = useChange(webhooks.setDepth);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const confirmations = text === "" ? null : Number(text);
    const said = say("confirmationsSet", { chain: name, n: confirmations ?? byDefault });
    change.mutate({ chainId, confirmations }, { onSuccess: () => toast(said) });
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-start gap-3">
      <Field
        label={name}
        type="number"
        min="0"
        max="100"
        placeholder={String(byDefault)}
        hint={say("depthHint", { n: byDefault })}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" busy={change.isPending} className="sm:mt-7">
        {say("save")}
      </Button>
    </form>
  );
}
