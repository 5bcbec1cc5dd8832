// `executable-address/element`: <executable-address address="0x…" base-url="https://…/v1">. Amount,
// code and state of an address in anybody's page, proved in that page and followed live. Importing
// this module defines the element. It needs no framework and runs under a strict policy: nothing is
// inline, nothing is evaluated, and no text becomes markup.

import { parseAddress } from "../abi/checksum.ts";
import type { Simulation } from "../client/simulation.ts";
import type { Hex } from "../intent/intent.ts";
import type { ServiceStatus } from "../status/shape.ts";
import { followStatus, type News, noNews } from "./follow.ts";
import { type LookedUp, lookUp } from "./look-up.ts";
import { addressGroups, drawQr, formatUnits, shortAddress } from "./payment.ts";
import { findSimulation } from "./simulation.ts";
import { type Standing, standingOf } from "./standing.ts";
import { style } from "./style.ts";
import { type ElementWords, elementWords } from "./words.ts";

export type { ElementWords } from "./words.ts";

/** `detail` of the events `paid`, `executed` and `expired`, each of which comes once. */
export type AddressEventDetail = { readonly address: Hex; readonly status: ServiceStatus };

// A server that renders pages may import this too; there it defines nothing.
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

export class ExecutableAddressElement extends Base {
  static observedAttributes = ["address", "base-url"];

  #stop = () => {};
  #lookedUp: LookedUp = { kind: "loading" };
  #news = noNews;
  #simulation: Simulation | undefined;
  #told = new Set<string>();
  #words: ElementWords = elementWords;
  #drawn = "";

  /** Words in another language; those that are left out stay English. */
  set words(words: Partial<ElementWords>) {
    this.#words = { ...elementWords, ...words };
    this.#drawn = "";
    if (this.isConnected) this.#draw();
  }

  connectedCallback() {
    if (!this.shadowRoot) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(style);
      this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
    }
    this.#start();
  }

  disconnectedCallback() {
    this.#stop();
  }

  attributeChangedCallback() {
    if (this.isConnected && this.shadowRoot) this.#start();
  }

  #start() {
    this.#stop();
    this.#lookedUp = { kind: "loading" };
    this.#news = noNews;
    this.#simulation = undefined;
    this.#told.clear();
    this.#draw();
    const address = parsed(this.getAttribute("address"));
    const baseUrl = this.getAttribute("base-url")?.replace(/\/+$/, "");
    if (!address || !baseUrl) return this.#show({ kind: "missing" });
    const stopping = new AbortController();
    const stopFollowing = followStatus({ address, baseUrl, tell: (news) => this.#hear(news) });
    const timer = setInterval(() => this.#draw(), 1_000);
    this.#stop = () => {
      stopping.abort();
      stopFollowing();
      clearInterval(timer);
    };
    void lookUp(baseUrl, address, stopping.signal).then((lookedUp) => {
      if (!stopping.signal.aborted) this.#show(lookedUp);
    });
    void findSimulation(baseUrl, address, stopping.signal).then((found) => {
      if (stopping.signal.aborted) return;
      this.#simulation = found.kind === "done" ? found.simulation : undefined;
      this.#draw();
    });
  }

  #show(lookedUp: LookedUp) {
    this.#lookedUp = lookedUp;
    this.#tell();
    this.#draw();
  }

  #hear(news: News) {
    this.#news = news;
    this.#tell();
    this.#draw();
  }

  /** Tells the page what has become of it, once, and never of what is not proved. */
  #tell() {
    const { status } = this.#news;
    if (!status || this.#lookedUp.kind !== "record") return;
    const names = {
      unfunded: [],
      partially_funded: [],
      funded: ["paid"],
      executed: ["paid", "executed"],
      expired: ["expired"],
      recovered: ["expired"],
    }[status.state];
    const { address } = this.#lookedUp.record;
    for (const name of names) {
      if (this.#told.has(name)) continue;
      this.#told.add(name);
      const detail: AddressEventDetail = { address, status };
      this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
    }
  }

  /** Redraws only what changed, so that a screen reader and a pressed button are not disturbed. */
  #draw() {
    const lookedUp = this.#lookedUp;
    const deviceSeconds = Math.floor(Date.now() / 1000);
    const standing =
      lookedUp.kind === "record"
        ? standingOf(lookedUp.record.intent, this.#news, this.#simulation, deviceSeconds)
        : undefined;
    const { isSilent } = this.#news;
    const { secondsLeft, ...lasting } = standing ?? {};
    const drawn = JSON.stringify([lookedUp, lasting, isSilent]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const page = this.getAttribute("base-url")?.replace(/\/v1\/*$/, "");
    const parts =
      lookedUp.kind === "record" && standing
        ? drawRecord({ lookedUp, standing, isSilent, words: this.#words, page })
        : [element("p", "status", this.#words[lookedUp.kind as "loading"])];
    this.shadowRoot?.replaceChildren(...parts);
  }
}

type Drawing = {
  lookedUp: Extract<LookedUp, { kind: "record" }>;
  standing: Standing;
  isSilent: boolean;
  words: ElementWords;
  page: string | undefined;
};

function drawRecord({ lookedUp, standing, isSilent, words, page }: Drawing): Node[] {
  const { record, token, chainName } = lookedUp;
  const { address, intent } = record;
  const units = standing.state === "partly" ? standing.owed : intent.amount;
  const amount = token
    ? `${formatUnits(units, token.decimals)} ${token.symbol}`
    : fill(words.baseUnits, { amount: formatUnits(units, 0) });
  const chain = chainName ?? fill(words.chain, { id: `${intent.chainId}` });
  const doubt = standing.doubts[0];
  const said = doubt === "fails" || doubt === "soon" ? words[doubt] : words[standing.state];
  const isGrave = doubt !== undefined && standing.state !== "executed" && standing.state !== "paid";
  const state = element("p", isGrave ? "status warning" : "status", said);
  state.setAttribute("role", "status");

  const parts: Node[] = [
    element("p", "amount", amount),
    element("p", "chain", fill(words.on, { chain })),
    state,
  ];
  if (doubt === undefined) {
    const short = shortAddress(address);
    parts.push(
      qr(address, fill(words.qr, { address })),
      groups(address),
      copyButton(address, words),
      element("p", "must-show", fill(words.mustShow, { amount, address: short, chain })),
    );
  }
  if (isSilent) parts.push(element("p", "warning", words.silent));
  if (page !== undefined) {
    const link = Object.assign(element("a", "details", words.details), {
      href: `${page}/a/${address}`,
      target: "_blank",
      rel: "noreferrer",
    });
    const line = element("p", "more", "");
    line.append(link);
    parts.push(line);
  }
  return parts;
}

function element<Name extends keyof HTMLElementTagNameMap>(name: Name, part: string, text: string) {
  const made = document.createElement(name);
  made.setAttribute("part", part);
  made.textContent = text;
  return made;
}

/** Dark on white whatever the page's colours: many scanners read nothing else. */
function qr(address: Hex, label: string): SVGElement {
  const { size, path } = drawQr(address);
  const make = (name: string, attributes: Record<string, string | number>) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, `${value}`);
    return made as SVGElement;
  };
  const code = make("svg", {
    part: "qr",
    role: "img",
    "aria-label": label,
    viewBox: `0 0 ${size} ${size}`,
    "shape-rendering": "crispEdges",
  });
  code.append(make("rect", { width: size, height: size, fill: "#fff" }));
  code.append(make("path", { d: path, fill: "#000" }));
  return code;
}

function groups(address: Hex): Node {
  const line = element("p", "address", "0x");
  line.dir = "ltr";
  for (const group of addressGroups(address)) {
    line.append(Object.assign(document.createElement("span"), { textContent: group }));
  }
  return line;
}

function copyButton(address: Hex, words: ElementWords): Node {
  const button = element("button", "copy", words.copy);
  button.type = "button";
  button.addEventListener("click", () => {
    // There is no clipboard outside https and localhost, and a browser may say no.
    Promise.resolve()
      .then(() => navigator.clipboard.writeText(address))
      .then(
        () => words.copied,
        () => words.copyRefused,
      )
      .then((text) => {
        button.textContent = text;
      });
  });
  return button;
}

const fill = (text: string, values: Record<string, string>): string =>
  text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

const parsed = (address: string | null): Hex | undefined => {
  try {
    return parseAddress((address ?? "").toLowerCase());
  } catch {
    return undefined;
  }
};

declare global {
  interface HTMLElementTagNameMap {
    "executable-address": ExecutableAddressElement;
  }
}

const registry = globalThis.customElements;
if (registry && !registry.get("executable-address")) {
  registry.define("executable-address", ExecutableAddressElement);
}
