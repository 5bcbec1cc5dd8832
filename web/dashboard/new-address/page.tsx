import { useMutation } from "@tanstack/react-query";
import type { Check, Finding } from "executable-address/client";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import { addresses } from "../addresses/api.ts";
import type { Config } from "../api.ts";
import { Heading } from "../heading.tsx";
import { queryClient, useConfig } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { Problem, request } from "../request.ts";
import { makeIntent, type SimplePayment } from "../samples.ts";
import { sayProblem } from "../words/problems.ts";
import { useSpeech } from "../words/speech.ts";
import { PaymentForm } from "./form.tsx";
import { Made } from "./made.tsx";

type NewPayment = { payment: SimplePayment; reference: string };

/** Checks the payment. Without findings, the address is created immediately. */
const check = ({ payment }: NewPayment) =>
  request<Check>("POST", "/dashboard/api/check", makeIntent(payment));

/** Creates an address for a simple payment without code, and shows the code for the next one. */
export function NewAddressPage() {
  const { say } = useSpeech();
  const config = useConfig();
  return (
    <>
      <Heading title={say("newAddress")}>{say("newAddressText")}</Heading>
      <QueryState query={config} lines={5} inCard />
      {config.data && <NewAddress config={config.data} />}
    </>
  );
}

/** Checks the intent first. If there are findings, shows them, and a second press creates. */
function NewAddress({ config }: { config: Config }) {
  const { say } = useSpeech();
  const [submitted, setSubmitted] = useState<NewPayment>();
  const creation = useMutation({
    mutationFn: ({ intent, reference }: { intent: object; reference: string }) =>
      addresses.create(intent, reference),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ["addresses"] }),
  });
  const trial = useMutation({
    mutationFn: check,
    onSuccess: ({ record, findings }, { reference }) => {
      if (findings.length === 0) creation.mutate({ intent: record.intent, reference });
    },
  });
  const submit = (next: NewPayment) => {
    setSubmitted(next);
    creation.reset();
    trial.mutate(next);
  };
  const insist = () =>
    submitted &&
    creation.mutate({
      intent: trial.data?.record.intent ?? makeIntent(submitted.payment),
      reference: submitted.reference,
    });

  if (creation.data) {
    const again = () => {
      creation.reset();
      trial.reset();
    };
    return <Made record={creation.data} config={config} onAgain={again} />;
  }
  const refused = creation.error ?? trial.error;
  const canInsist = !creation.error && isUntried(trial.error);
  return (
    <div className="space-y-6">
      <PaymentForm
        config={config}
        busy={trial.isPending || creation.isPending}
        onSubmit={submit}
        onChange={trial.reset}
      />
      {refused && (
        <Notice
          tone="bad"
          title={say(canInsist ? "notTried" : "notMade")}
          action={canInsist && <Button onClick={insist}>{say("makeAnyway")}</Button>}
        >
          <p>{sayProblem(refused, say)}</p>
        </Notice>
      )}
      {trial.data && trial.data.findings.length > 0 && (
        <Doubtful findings={trial.data.findings} busy={creation.isPending} onInsist={insist} />
      )}
    </div>
  );
}

/** If the chain is unavailable or the limit is reached, the payment itself may still be fine. */
const isUntried = (error: unknown) =>
  error instanceof Problem && (error.status === 503 || error.status === 429);

type DoubtfulProps = { findings: readonly Finding[]; busy: boolean; onInsist: () => void };

function Doubtful({ findings, busy, onInsist }: DoubtfulProps) {
  const { say } = useSpeech();
  return (
    <Notice
      tone="warn"
      title={say("notMadeYet")}
      action={
        <Button look="danger" busy={busy} onClick={onInsist}>
          {say("makeAnyway")}
        </Button>
      }
    >
      <ul className="mt-1 list-disc space-y-1 ps-5">
        {findings.map(({ code, path, message, cure }) => (
          <li key={`${code} ${path.join(".")}`}>
            {message}
            {cure && <span className="text-soft"> ({cure})</span>}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
