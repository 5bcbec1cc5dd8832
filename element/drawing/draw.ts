// Draws the element with DOM methods. The element uses no inline code or styles, and never parses
// text as markup.

import { type Hex, requestedAmount } from "executable-address";
import { addressGroups, formatUnits, shortAddress } from "executable-address/payment";
import { findHazards } from "../hazards.ts";
import type { LookedUp } from "../look-up.ts";
import {
  type Doubt,
  decideOffer,
  findStateWord,
  type Standing,
  type WrongTokenNews,
} from "../standing.ts";
import { type ElementWords, fill } from "../words.ts";
import { drawQr } from "./qr-code.ts";

type Drawing = {
  lookedUp: Extract<LookedUp, { kind: "record" }>;
  standing: Standing;
  isSilent: boolean;
  wrongTokens: readonly WrongTokenNews[];
  words: ElementWords;
  /** The URL of the service's own payment page. */
  page: string | undefined;
  /**
   * The DOM nodes of the section for paying with a browser wallet. Undefined until the element
   * knows whether such a payment is already pending.
   */
  wallet: { drawn: readonly Node[]; isInProgress: boolean } | undefined;
  /** One button per wallet. */
  wallets: readonly { name: string; pay: () => void }[];
};

const doubtWords: Partial<Record<Doubt, keyof ElementWords>> = {
  unknown: "doubtUnknown",
  fails: "cannotRun",
  soon: "overSoon",
  silent: "doubtSilent",
};

export type Named = Pick<Drawing["lookedUp"], "record" | "chainName" | "token">;

export const sayChain = ({ record, chainName }: Named, words: ElementWords): string =>
  chainName ?? fill(words.chainNumber, { id: `${record.intent.chainId}` });

export const sayAmount = (units: string, { token }: Named, words: ElementWords): string =>
  token
    ? `${formatUnits(units, token.decimals)} ${token.symbol}`
    : fill(words.baseUnits, { amount: formatUnits(units, 0) });

export function drawRecord(drawing: Drawing): Node[] {
  const { lookedUp, standing, isSilent, words, page, wallet } = drawing;
  const { record, token } = lookedUp;
  const { address, intent } = record;
  const units = standing.state === "partly" ? standing.owed : requestedAmount(intent);
  const amount = sayAmount(units, lookedUp, words);
  const chain = sayChain(lookedUp, words);
  const [doubt] = standing.doubts;
  const hazards = findHazards(intent, token !== undefined);
  const { isAwaited, isCovered, isPayable, isGrave } = decideOffer(standing, hazards);
  const said = words[(doubt && doubtWords[doubt]) ?? findStateWord(standing)];
  const state = element("p", isGrave ? "status warning" : "status", said);
  state.setAttribute("role", "status");

  const shown = element("p", "amount", amount);
  shown.dir = "ltr";
  const parts: Node[] = [shown, sentence("chain", words.onChain, { chain }), state];
  if (isAwaited) {
    for (const { title, call = 0 } of hazards)
      parts.push(sentence("warning", words[title], { n: `${call}` }));
  }
  if (isCovered) parts.push(element("p", "warning", words.lookFirst));
  parts.push(...drawWrongTokens(drawing), ...(wallet?.drawn ?? []));
  if (isPayable && wallet && !wallet.isInProgress) {
    parts.push(...waysToPay(drawing, { address, amount, chain }));
  }
  if (isSilent) parts.push(element("p", "warning", words.noNewsYet));
  if (page !== undefined) parts.push(pageLink(`${page}/a/${address}`, words));
  return parts;
}

/**
 * Draws a notice for each look-alike token that was sent to the address by mistake. The notice also
 * says to which address the token is returned.
 */
function drawWrongTokens({ wrongTokens, lookedUp, words }: Drawing): Node[] {
  const { intent } = lookedUp.record;
  const requested = lookedUp.token?.symbol ?? shortAddress(intent.token);
  const date = new Date(intent.expirationTimestamp * 1000).toLocaleString();
  const address = shortAddress(intent.recovery);
  return wrongTokens.flatMap(({ name, held, fate }) => [
    sentence("warning", words.wrongToken, { name, requested }),
    sentence("warning", words[fate], { held, address, date }),
  ]);
}

type PaymentText = { address: Hex; amount: string; chain: string };

function waysToPay({ words, wallets }: Drawing, { address, amount, chain }: PaymentText): Node[] {
  const short = shortAddress(address);
  return [
    qr(address, fill(words.qrOfAddress, { address })),
    groups(address),
    copyButton(address, words),
    sentence("must-show", words.walletMustShow, { amount, address: short, chain }),
    ...wallets.map(({ name, pay }) => button("pay", fill(words.payWith, { wallet: name }), pay)),
  ];
}

/**
 * Returns a sentence in which each value keeps its own text direction. Values that start with a
 * digit, such as amounts, always read from left to right.
 */
export function sentence(
  part: string,
  text: string,
  values: Readonly<Record<string, string>>,
): Node {
  const made = element("p", part, "");
  for (const [at, piece] of text.split(/\{(\w+)\}/).entries()) {
    const bdi = element("bdi", "value", values[piece] ?? "");
    if (/^[\d]/.test(bdi.textContent)) bdi.dir = "ltr";
    made.append(at % 2 === 0 ? piece : bdi);
  }
  return made;
}

function pageLink(href: string, words: ElementWords): Node {
  const link = element("a", "details", words.details);
  const line = element("p", "more", "");
  line.append(Object.assign(link, { href, target: "_blank", rel: "noreferrer" }));
  return line;
}

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  part: string,
  text: string,
) {
  const made = document.createElement(name);
  made.setAttribute("part", part);
  made.textContent = text;
  return made;
}

export function button(part: string, text: string, press: () => void): HTMLButtonElement {
  const made = element("button", part, text);
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

/** The squares are dark on white in every color scheme. Many scanners cannot read other colors. */
function qr(address: Hex, label: string): SVGElement {
  const { size, path } = drawQr(address);
  return svg({ part: "qr", role: "img", "aria-label": label, viewBox: `0 0 ${size} ${size}` }, [
    ["rect", { width: size, height: size, fill: "#fff" }],
    ["path", { d: path, fill: "#000" }],
  ]);
}

type Attributes = Record<string, string | number>;

function svg(attributes: Attributes, shapes: [name: string, Attributes][]): SVGElement {
  const make = (name: string, attributes: Attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, `${value}`);
    return made as SVGElement;
  };
  const made = make("svg", { "shape-rendering": "crispEdges", ...attributes });
  made.append(...shapes.map(([name, of]) => make(name, of)));
  return made;
}

/**
 * Draws the address in groups of characters. The identicon is loaded separately and appears when
 * the element is drawn again.
 */
function groups(address: Hex): Node {
  const line = element("p", "address", "0x");
  line.dir = "ltr";
  import("./identicon.ts").then(
    ({ drawIdenticon, identiconSide }) =>
      line.prepend(
        svg(
          {
            part: "identicon",
            "aria-hidden": "true",
            viewBox: `0 0 ${identiconSide} ${identiconSide}`,
          },
          drawIdenticon(address).map((squares) => ["path", squares]),
        ),
      ),
    // If the identicon cannot be loaded, the address is shown without it.
    () => {},
  );
  for (const group of addressGroups(address)) {
    line.append(Object.assign(document.createElement("span"), { textContent: group }));
  }
  return line;
}

function copyButton(address: Hex, words: ElementWords): Node {
  const what = words.address;
  const made = button("copy", fill(words.copyWhat, { what }), () => {
    // The clipboard is available only on https and localhost, and the browser may deny access.
    Promise.resolve()
      .then(() => navigator.clipboard.writeText(address))
      .then(
        () => fill(words.whatCopied, { what }),
        () => words.copyRefused,
      )
      .then((text) => {
        made.textContent = text;
      });
  });
  return made;
}
