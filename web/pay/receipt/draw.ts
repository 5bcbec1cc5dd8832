// A receipt as it is read: drawn as text alone, since intents and tokens are strangers' words.

import type { ProvedReceipt } from "executable-address/proof";
import { findKnownToken, formatUnits, inertText, isSame } from "executable-address-element/page";
import { sharesIn } from "../../shown/shares.ts";
import { drawFlow, drawTimeline, identicon } from "./pictures.ts";
import { element, said, say, sayTime } from "./speech.ts";

/** How the service says amounts and the chain: shown, not proved. */
export type Shown = {
  readonly chain?: string | undefined;
  readonly symbol?: string | undefined;
  readonly decimals?: number | undefined;
};

/** Text of strangers: what would hide or reorder is written out. */
const inert = (text: string) => element("bdi", inertText(text));
const code = (text: string) => element("code", inert(text));
const account = (address: string) => element("span", identicon(address), code(address));

/**
 * The parts of a receipt that is right if its blocks are of the chain.
 *
 * @param named the names in the file or of the service, which decide nothing for a known token
 */
export function drawReceipt(proved: ProvedReceipt, named: Shown): HTMLElement[] {
  const { record, outcome, block, execution, payments } = proved;
  const { intent } = record;
  const shown = { ...named, ...findKnownToken(intent.chainId, intent.token) };
  const amountOf = (amount: string, token: string = intent.token) =>
    isSame(token, intent.token)
      ? sayAmount(amount, shown)
      : said("span", "unitsOf", { amount: formatUnits(amount, 0), token: account(token) });
  const paid = payments.flatMap((payment) =>
    sharesIn(intent, [payment], 0n).map(({ who, units }) =>
      said("li", "paidBy", {
        amount: amountOf(`${units}`),
        from: who.startsWith("0x") ? account(who) : say("otherPayers"),
        hash: code(payment.transactionHash),
      }),
    ),
  );
  const moved = (execution?.moved ?? []).map(({ token, to, amount }) =>
    said("li", "movedTo", { amount: amountOf(amount, token), to: account(to) }),
  );
  const calls = intent.calls.map(({ target, function: signature, args }) =>
    element("li", account(target), " ", code(signature), " ", code(JSON.stringify(args))),
  );
  const id = String(intent.chainId);
  const flow = drawFlow(proved, amountOf);
  return [
    said("p", outcome),
    list([
      [say("asked"), sayAmount(intent.amount, shown)],
      [say("token"), account(intent.token)],
      [say("address"), account(record.address)],
      [say("recovery"), account(intent.recovery)],
      [
        say("network"),
        shown.chain
          ? said("span", "namedChain", { name: inert(shown.chain), id })
          : said("span", "chain", { id }),
      ],
      [say("asOf"), sayBlock(block)],
      ...(execution
        ? ([
            [say("executedAt"), sayBlock(execution.block)],
            [say("byTransaction"), code(execution.transactionHash)],
            [say("held"), amountOf(execution.held)],
            [say("left"), amountOf(execution.left)],
          ] as const)
        : []),
    ]),
    ...(flow ? [flow] : []),
    drawTimeline(proved, amountOf),
    said("p", "notProved"),
    ...section(say("paid"), paid, say("noPayment")),
    ...(paid.length > 0 ? [said("p", "somePaid")] : []),
    ...section(say("purpose"), calls, ""),
    ...(execution ? section(say("moved"), moved, say("nothing")) : []),
  ];
}

function section(title: string, items: readonly HTMLElement[], none: string): HTMLElement[] {
  return [element("h2", title), items.length > 0 ? element("ol", ...items) : element("p", none)];
}

function list(items: readonly (readonly [string, Node])[]): HTMLElement {
  return element(
    "dl",
    ...items.flatMap(([name, value]) => [element("dt", name), element("dd", value)]),
  );
}

const sayBlock = ({ number, timestamp }: { number: number; timestamp: number }) =>
  said("span", "atBlock", { number: String(number), time: sayTime(timestamp) });

function sayAmount(amount: string, { symbol, decimals }: Shown): HTMLElement {
  if (!symbol || decimals === undefined) {
    return said("span", "units", { amount: formatUnits(amount, 0) });
  }
  const units = said("small", "inUnits", { amount: formatUnits(amount, 0) });
  return element("bdi", `${formatUnits(amount, decimals)} `, inert(symbol), " ", units);
}
