// The calls of an intent, decoded and described in words.

import { type Call, collectionOf, type Hex, requirementOf, tipOf } from "executable-address";
import { findHazards, isSame, type Token } from "executable-address-element/page";
import type { ReactNode } from "react";
import { useAbout } from "./about.tsx";
import { Party, SentenceText } from "./address-text.tsx";
import { splitFunction } from "./function.ts";
import { InertText } from "./inert-text.tsx";
import { findToken, sayCall, sayCollection, sayRequirement, sayTip } from "./reading.ts";
import { fieldsOf, itemsOf } from "./value.ts";
import { Said, useSpeech } from "./words/say.tsx";

/**
 * The number of calls that are expanded at first. The other calls are collapsed, because nobody
 * reads 32 calls before paying. If one of the other calls is a hazard, all calls are expanded.
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

/** Describes a call in words if its function is known. Always shows the decoded call. */
function CallCard({ call, number }: { call: Call; number: number }) {
  const { record, chains, facts } = useAbout();
  const { say } = useSpeech();
  const token = findToken(record.intent, chains, call.target);
  const tip = tipOf(call);
  const collected = collectionOf(call);
  const required = requirementOf(call);
  const tokenOf = (address: Hex) => findToken(record.intent, chains, address);
  const sentence = tip
    ? sayTip(tip, tokenOf(tip.token), say)
    : collected
      ? sayCollection(collected, tokenOf(collected.token), say)
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

/** Returns whether an argument of a token's function is an amount of this token. */
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

type ArgumentProps = { type: string; text: string; token?: Token | undefined };

/**
 * Shows an argument:
 * - an address with its name
 * - an amount in base units and in units of the token
 * - an array as a list or a table
 * - a tuple as a table
 */
export function Argument({ type, text, token }: ArgumentProps): ReactNode {
  const { sayAmount } = useAbout();
  if (type === "address") return <Party address={text} />;
  if (token) {
    return (
      <>
        <bdi dir="ltr" className="wrap-anywhere">
          {text}
        </bdi>
        <span className="font-sans text-soft">
          {" "}
          (<bdi>{sayAmount(text, token)}</bdi>)
        </span>
      </>
    );
  }
  const items = itemsOf(type, text);
  if (items) return <Items type={items.type} items={items.values} />;
  const fields = fieldsOf(type, text);
  if (!fields) return <InertText text={text} />;
  return (
    <table className="fields">
      <tbody>
        {fields.map(({ name, type, value }) => (
          <tr key={name}>
            <th scope="row">
              {name} <code dir="ltr">{type}</code>
            </th>
            <td>
              <Argument type={type} text={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Shows an array: tuples as table rows, other items as a list. */
function Items({ type, items }: { type: string; items: readonly string[] }) {
  if (items.length === 0) return "[]";
  const rows = items.map((item) => fieldsOf(type, item));
  const head = rows[0];
  if (!head) {
    return (
      <ol className="list-inside list-decimal">
        {items.map((item, at) => (
          <li key={at.toString()}>
            <Argument type={type} text={item} />
          </li>
        ))}
      </ol>
    );
  }
  return (
    <div className="overflow-x-auto">
      <table className="fields">
        <thead>
          <tr>
            {head.map(({ name, type }) => (
              <th key={name} scope="col">
                {name} <code dir="ltr">{type}</code>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at.toString()}>
              {row?.map(({ name, type, value }) => (
                <td key={name}>
                  <Argument type={type} text={value} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
