// The page that creates an address from a form, and shows code that creates more addresses.

import { useMutation } from "@tanstack/react-query";
import {
  type AddressRecord,
  factoryAddress,
  requestedAmount,
  verifyRecord,
} from "executable-address";
import type { Check, Finding } from "executable-address/client";
import { useState } from "react";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Notice } from "../../ui/notice.tsx";
import { QrCode } from "../../ui/qr-code.tsx";
import { addresses } from "../addresses/api.ts";
import type { Config } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayAmount, sayChain } from "../money.ts";
import { Snippet } from "../parts/snippet.tsx";
import { queryClient, useConfig, useCredentials } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { Problem, request } from "../request.ts";
import { makeIntent, type SimplePayment, samplesFor } from "../samples.ts";
import { sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";
import { PaymentForm } from "./form.tsx";

type NewPayment = { payment: SimplePayment; reference: string };

/**
 * Asks the server to check the payment. If the check finds no problem, the address is created
 * immediately.
 */
const check = ({ payment }: NewPayment) =>
  request<Check>("POST", "/dashboard/api/check", makeIntent(payment));

/** Creates an address for a simple payment, and shows code that creates more addresses. */
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

/**
 * Checks the intent before creating the address. If the check finds problems, the page shows them.
 * The user must then press the button again to create the address.
 */
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

/**
 * Returns whether the server could not check the payment. In this case, the service or the chain is
 * unavailable, or a rate limit is exceeded. The payment may still be valid, so the user can create
 * the address anyway.
 */
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

type MadeProps = { record: AddressRecord; config: Config; onAgain: () => void };

const isProved = (record: AddressRecord): boolean => {
  try {
    verifyRecord(record, { factory: factoryAddress });
    return true;
  } catch {
    return false;
  }
};

/** Shows the new address, and code that creates more addresses. */
export function Made({ record, config, onAgain }: MadeProps) {
  const { say } = useSpeech();
  const clientId = useCredentials().data?.clientId.clientId;
  if (!isProved(record)) {
    return (
      <Notice tone="bad" title={say("doNotUse")}>
        <p>{say("notItsOwn")}</p>
      </Notice>
    );
  }
  const { address, intent } = record;
  const { salt, ...fields } = intent;
  const page = `${config.publicUrl}/a/${address}`;
  const samples = samplesFor({ apiBase: config.apiBase, intent: makeSample(fields), clientId });
  return (
    <div className="space-y-6">
      <section
        aria-label={say("onThisPage")}
        className="card flex flex-wrap items-center gap-6 p-5"
      >
        <div className="w-44">
          <QrCode text={address} label={say("qrOf", { address })} />
        </div>
        <div className="min-w-0 flex-1 basis-64 space-y-3">
          <p>
            <Said
              as="sendTo"
              amount={
                <strong>{sayAmount(requestedAmount(intent), intent, config.chains, say)}</strong>
              }
              chain={sayChain(intent, config.chains, say)}
            />
          </p>
          <p>
            <code data-testid="new-address" className="break-all">
              {address}
            </code>
          </p>
          <div className="flex flex-wrap gap-2">
            <CopyButton text={address} what={say("theAddress")}>
              {say("address")}
            </CopyButton>
            <CopyButton text={page} what={say("linkToPage")}>
              {say("linkForPayer")}
            </CopyButton>
          </div>
          <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
            <a className="link" href={page} target="_blank" rel="noreferrer">
              {say("seePayersPage")}
            </a>
            <Link href={`/addresses/${address}`} className="link">
              {say("followIt")}
            </Link>
            <Link href="/addresses" className="link">
              {say("allAddresses")}
            </Link>
          </p>
        </div>
      </section>
      <section aria-labelledby="code" className="card space-y-4 p-5">
        <h2 id="code">{say("byProgram")}</h2>
        <Snippet samples={samples} label={say("examples")} />
        <p className="text-sm text-soft">
          <Said as="byProgramText" variable={<code>$API_KEY</code>} />
        </p>
      </section>
      <Button onClick={onAgain}>{say("makeAnother")}</Button>
    </div>
  );
}

/** Returns the intent's fields in the usual order. */
const makeSample = ({
  chainId,
  token,
  amount,
  calls,
  ...rest
}: Omit<AddressRecord["intent"], "salt">) => ({
  ...{ chainId, token, amount },
  calls: calls.map((call) => ({ ...call, args: [...call.args] })),
  expirationTimestamp: rest.expirationTimestamp,
  recovery: rest.recovery,
});
