import { type Call, type Hex, requirementOf, tipOf } from "executable-address";
import { findHazards, isSame, splitFunction } from "executable-address-element/page";
import type { ReactNode } from "react";
import { useAbout } from "./about.tsx";
import { Party, SentenceText } from "./address-text.tsx";
import { Argument } from "./argument.tsx";
import { InertText } from "./inert-text.tsx";
import { findToken, sayCall, sayRequirement, sayTip } from "./reading.ts";
import { Said, useSpeech } from "./words/say.tsx";

/**
 * Further calls are folded unless one is hazardous: nobody reads 32 calls before paying, but all
 * must be available.
 */
const shownMax = 3;

export function Calls() {
  const { intent } = useAbout();
  const isHazardous = findHazards(intent, true).some(({ call = 0 }) => call > shownMax);
  const shown = intent.calls.slice(0, shownMax);
  const more = intent.calls.slice(shownMax);
  return (
    <>
      <CallList calls={shown} from={1} />
      {more.length > 0 && (
        <details className="mt-3" open={isHazardous}>
          <summary className="font-medium">
            <Said as="moreCalls" n={more.length} />
          </summary>
          <div className="mt-3">
            <CallList calls={more} from={shownMax + 1} />
          </div>
        </details>
      )}
    </>
  );
}

function CallList({ calls, from }: { calls: readonly Call[]; from: number }) {
  return (
    <ol start={from} className="space-y-3">
      {calls.map((call, index) => (
        <li key={index.toString()} className="overflow-hidden rounded-xl border border-line">
          <CallCard call={call} number={from + index} />
        </li>
      ))}
    </ol>
  );
}

/** Describes a call in words if possible, and always shows the decoded call. */
function CallCard({ call, number }: { call: Call; number: number }) {
  const { record, chains, facts } = useAbout();
  const { say } = useSpeech();
  const token = findToken(record.intent, chains, call.target);
  const tip = tipOf(call);
  const required = requirementOf(call);
  const tokenOf = (address: Hex) => findToken(record.intent, chains, address);
  const sentence = tip
    ? sayTip(tip, tokenOf(tip.token), say)
    : required
      ? sayRequirement(required, tokenOf, say)
      : sayCall(call, token, say);
  const { name, parameters } = splitFunction(call.function);
  const label = facts.labels[call.target.toLowerCase()];
  const code = (
    <code dir="ltr" className="font-semibold break-all">
      {name}
    </code>
  );
  return (
    <>
      <div className="flex gap-3 p-4">
        <span className="size-6 flex-none rounded-full bg-sunken text-center text-sm leading-6">
          {number}
        </span>
        <p className="min-w-0 break-words">
          {sentence ? (
            <SentenceText sentence={sentence} address={Party} />
          ) : token ? (
            <Said as="callOnToken" name={code} token={token.symbol} />
          ) : label ? (
            <Said as="callOnLabel" name={code} label={label} />
          ) : (
            <Said as="callOnUnknown" name={code} />
          )}
        </p>
      </div>
      <dl className="space-y-2 border-t border-line bg-sunken p-4 text-sm">
        <Entry name={say("function")}>
          <InertText text={call.function} dir="ltr" />
        </Entry>
        <Entry name={say("contract")}>
          <Party address={call.target} />
        </Entry>
        {parameters.map((parameter, index) => (
          <Entry key={parameter.name} name={parameter.name} type={parameter.type}>
            <Argument
              type={parameter.type}
              text={call.args[index] ?? ""}
              token={token && isAmountOf(call, index) ? token : undefined}
            />
          </Entry>
        ))}
      </dl>
    </>
  );
}

/** Whether an argument of a listed token's own function is an amount of the token. */
const isAmountOf = (call: Call, index: number): boolean => {
  const at: Record<string, number> = { transfer: 1, approve: 1, transferFrom: 2 };
  const { name, parameters } = splitFunction(call.function);
  return at[name] === index && isSame(parameters[index]?.type ?? "", "uint256");
};

function Entry(props: { name: string; type?: string; children: ReactNode }) {
  return (
    <div>
      <dt className="break-words text-soft">
        {props.name} {props.type && <code dir="ltr">{props.type}</code>}
      </dt>
      <dd className="font-mono">{props.children}</dd>
    </div>
  );
}
