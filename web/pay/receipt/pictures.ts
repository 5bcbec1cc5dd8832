// The pictures of a receipt, by the shapes that the payer's page draws with.

import type { ProvedReceipt } from "executable-address/proof";
import { isSame, shortAddress } from "executable-address-element/page";
import { type Share, sharesIn, sharesOut, sumOf } from "../../shown/shares.ts";
import { flowPicture } from "../../ui/drawn/flow-shapes.ts";
import { identiconBox, identiconShapes } from "../../ui/drawn/identicon-shapes.ts";
import type { Shape } from "../../ui/drawn/shape.ts";
import { type Moment, timelineRem, timelineShapes } from "../../ui/drawn/timeline-shapes.ts";
import { direction, element, say, sayTime } from "./speech.ts";

const namespace = "http://www.w3.org/2000/svg";

function shape([name, attributes, text = ""]: Shape): SVGElement {
  const made = document.createElementNS(namespace, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, `${value}`);
  made.textContent = text;
  return made;
}

/** It says nothing that the text beside it does not. */
function picture(attributes: Shape[1], shapes: readonly Shape[]): SVGElement {
  const made = shape(["svg", { "aria-hidden": "true", ...attributes }]);
  made.append(...shapes.map(shape));
  return made;
}

export const identicon = (address: string): SVGElement =>
  picture(
    { class: "identicon identicon-inline", viewBox: identiconBox, "shape-rendering": "crispEdges" },
    identiconShapes(address),
  );

type AmountOf = (amount: string, token: string) => Node;

/** @returns undefined where no payment and no outcome is proved */
export function drawFlow(
  { record, execution, outcome, payments }: ProvedReceipt,
  amountOf: AmountOf,
): HTMLElement | undefined {
  const { intent } = record;
  const paid = sumOf(sharesIn(intent, payments, 0n));
  const left = BigInt(execution?.left ?? 0);
  const taken = execution ? BigInt(execution.held) - left : 0n;
  // What was not taken, or came later, can go to `recovery` alone.
  const returned = paid - taken > left ? paid - taken : left;
  const to = outcome === "open" ? [] : sharesOut(intent, execution, returned);
  if (to.length === 0) return undefined;
  const from = sharesIn(intent, payments, taken + returned);
  const side = (shares: readonly Share[]) =>
    element(
      "ul",
      ...shares.map(({ who, token, units, isReturn }) =>
        element("li", element("b", amountOf(`${units}`, token)), named(who, isReturn)),
      ),
    );
  const ribbonOf = ({ units, token, isReturn = false }: Share) => ({
    units: isSame(token, intent.token) ? units : 0n,
    isReturn,
  });
  const { box, rem, shapes } = flowPicture(from.map(ribbonOf), to.map(ribbonOf));
  const drawn = picture(
    { class: "flow-picture", viewBox: box, preserveAspectRatio: "none", height: `${rem}rem` },
    shapes,
  );
  const made = element("figure", side(from), drawn, side(to));
  made.className = "flow";
  made.ariaLabel = say("flow");
  return made;
}

function named(who: Share["who"], isReturn = false): HTMLElement {
  const isAccount = who.startsWith("0x");
  const name = isReturn
    ? say("recovery")
    : isAccount
      ? element("code", shortAddress(who))
      : say(who as "payers");
  const made = element("span", ...(isAccount ? [identicon(who)] : []), name);
  made.className = "text-soft";
  if (isAccount) made.title = who;
  return made;
}

export function drawTimeline(
  { record, block, execution, payments }: ProvedReceipt,
  amountOf: AmountOf,
): HTMLElement {
  const end = record.intent.expirationTimestamp;
  const closed = Math.min(end, execution?.block.timestamp ?? end);
  const { intent } = record;
  const moments: (Moment & { name: string; amount?: Node })[] = [
    ...payments.map((payment) => ({
      ...{ name: say("paid"), seconds: payment.block.timestamp },
      amount: amountOf(`${sumOf(sharesIn(intent, [payment], 0n))}`, intent.token),
      ...(payment.block.timestamp > closed && { is: "late" as const }),
    })),
    ...(execution ? [{ name: say("executedAt"), seconds: execution.block.timestamp }] : []),
    { name: say("asOf"), seconds: block.timestamp, is: "now" },
    { name: say("expires"), seconds: end, is: "end" },
  ];
  const list = element(
    "ol",
    ...moments
      .toSorted((one, other) => one.seconds - other.seconds)
      .map(({ name, amount, seconds, is = "past" }) => {
        const what = element("b", element("bdi", name), ...(amount ? [" ", amount] : []));
        const row = element("li", what, " ", element("bdi", sayTime(seconds)));
        row.className = `timeline-${is}`;
        return row;
      }),
  );
  const labels = { now: say("asOf"), end: say("expires") };
  const drawn = timelineShapes(moments, labels, direction());
  const size = { width: "100%", height: `${timelineRem}rem` };
  const made = element("div", picture(size, drawn), list);
  made.className = "timeline";
  return made;
}
