import type { AddressRecord, Call } from "executable-address";
import type { Chain } from "./chains.ts";
import { partsOf } from "./function.ts";
import { InertText } from "./inert-text.tsx";
import { findToken, type Phrase, sayCall, sayParty } from "./reading.ts";

type CallsProps = { record: AddressRecord; chains: readonly Chain[] };

export function Calls({ record, chains }: CallsProps) {
  return (
    <ol className="space-y-3">
      {record.intent.calls.map((call, index) => (
        <li key={index.toString()} className="overflow-hidden rounded-xl border border-line">
          <CallCard call={call} number={index + 1} record={record} chains={chains} />
        </li>
      ))}
    </ol>
  );
}

type CallCardProps = CallsProps & { call: Call; number: number };

/** Words where the page knows them, and always the call itself, decoded in full. */
function CallCard({ call, number, record, chains }: CallCardProps) {
  const token = findToken(record.intent, chains, call.target);
  const phrases = sayCall(call, token);
  const { name, parameters } = partsOf(call.function);
  return (
    <>
      <div className="flex gap-3 p-4">
        <span className="size-6 flex-none rounded-full bg-sunken text-center text-sm leading-6">
          {number}
        </span>
        <p className="min-w-0 break-words">
          {phrases ? (
            phrases.map((phrase, index) => (
              <Words key={index.toString()} phrase={phrase} record={record} />
            ))
          ) : (
            <>
              Calls <code className="font-semibold">{name}</code> on{" "}
              {token ? `the token ${token.symbol}` : "a contract this page does not know"}
            </>
          )}
        </p>
      </div>
      <dl className="space-y-2 border-t border-line bg-sunken p-4 text-sm">
        <Argument name="function" type="">
          <InertText text={call.function} />
        </Argument>
        <Argument name="contract" type="">
          <Party address={call.target} record={record} />
        </Argument>
        {parameters.map((parameter, index) => (
          <Argument key={parameter.name} {...parameter}>
            {parameter.type === "address" ? (
              <Party address={call.args[index] ?? ""} record={record} />
            ) : (
              <InertText text={call.args[index] ?? ""} />
            )}
          </Argument>
        ))}
      </dl>
    </>
  );
}

function Argument(props: { name: string; type: string; children: React.ReactNode }) {
  return (
    <div>
      <dt className="break-words text-soft">
        {props.name} <code>{props.type}</code>
      </dt>
      <dd className="font-mono">{props.children}</dd>
    </div>
  );
}

function Words({ phrase, record }: { phrase: Phrase; record: AddressRecord }) {
  if (typeof phrase === "string") return phrase;
  return <Party address={phrase.address} record={record} />;
}

/** An address in full, with who it is where the record tells. */
function Party({ address, record }: { address: string; record: AddressRecord }) {
  const who = sayParty(address, record);
  return (
    <>
      <code className="break-all">{address}</code>
      {who && <span className="font-sans text-soft"> ({who})</span>}
    </>
  );
}
