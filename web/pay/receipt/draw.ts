// A receipt as it is read: drawn as text alone, since intents and tokens are strangers' words.

import { formatUnits, inertPieces } from "executable-address/page";
import type { ProvedReceipt } from "executable-address/proof";

/** How the service says amounts and the chain: shown, not proved. */
export type Shown = {
  readonly chain?: string | undefined;
  readonly symbol?: string | undefined;
  readonly decimals?: number | undefined;
};

type Child = Node | string;

/** An element of HTML, with text in it as it is. */
export function element(name: string, ...children: readonly Child[]): HTMLElement {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

/** Text of strangers: what would hide or reorder is written out. */
const inert = (text: string) =>
  element(
    "bdi",
    inertPieces(text)
      .map((piece) => piece.text)
      .join(""),
  );
const code = (text: string) => element("code", inert(text));

const says = {
  executed: "Its calls have run: all of them, once.",
  closed: "It is over without its calls having run; they never can.",
  open: "It is open: its calls may still run.",
  never: "It expired; its calls never ran and never can.",
} as const;

/** The parts of a receipt that is right if its blocks are of the chain. */
export function drawReceipt(proved: ProvedReceipt, shown: Shown): HTMLElement[] {
  const { record, outcome, block, execution, payments } = proved;
  const { intent } = record;
  const amountOf = (amount: string, token: string = intent.token) =>
    token.toLowerCase() === intent.token.toLowerCase()
      ? sayAmount(amount, shown)
      : `${amount} base units of ${token}`;
  const paid = payments.flatMap((each) =>
    each.payments.map(({ from, amount }) =>
      element(
        "li",
        `${amountOf(amount)} from `,
        code(from),
        ", transaction ",
        code(each.transactionHash),
      ),
    ),
  );
  const moved = (execution?.moved ?? []).map(({ token, to, amount }) =>
    element("li", `${amountOf(amount, token)} to `, code(to)),
  );
  const calls = intent.calls.map(({ target, function: signature, args }) =>
    element("li", code(target), " ", code(signature), " ", code(JSON.stringify(args))),
  );
  const chain = shown.chain ? `${shown.chain}, chain ${intent.chainId}` : `chain ${intent.chainId}`;
  return [
    element("p", says[outcome]),
    list([
      ["Asked for", sayAmount(intent.amount, shown)],
      ["Token", code(intent.token)],
      ["Address", code(record.address)],
      ["Network", inert(chain)],
      ["As of", `block ${block.number}, ${sayTime(block.timestamp)}`],
      ...(execution
        ? ([
            ["Executed", `${sayTime(execution.block.timestamp)}, block ${execution.block.number}`],
            ["By transaction", code(execution.transactionHash)],
            ["Held before", amountOf(execution.held)],
            ["Left after", amountOf(execution.left)],
          ] as const)
        : []),
    ]),
    ...section("Paid", paid, "No payment is proved here: native coin leaves no trace to prove."),
    ...section("What it was for", calls, ""),
    ...(execution ? section("What the calls moved, as the tokens tell", moved, "Nothing.") : []),
  ];
}

function section(title: string, items: readonly HTMLElement[], none: string): HTMLElement[] {
  return [element("h2", title), items.length > 0 ? element("ol", ...items) : element("p", none)];
}

function list(items: readonly (readonly [string, Child])[]): HTMLElement {
  return element(
    "dl",
    ...items.flatMap(([name, value]) => [element("dt", name), element("dd", value)]),
  );
}

const sayTime = (seconds: number) =>
  new Date(seconds * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC");

function sayAmount(amount: string, { symbol, decimals }: Shown): string {
  if (!symbol || decimals === undefined) return `${formatUnits(amount, 0)} base units`;
  return `${formatUnits(amount, decimals)} ${symbol}`;
}
