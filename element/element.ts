// `executable-address-element`: <executable-address address="0x…" base-url="https://…/v1">. Shows
// an address's amount, QR code, and live status in any page. The element verifies the record in
// that page. Importing this module defines the element. The element needs no framework and works
// under a strict Content-Security-Policy. The element uses no inline code and no eval, and never
// parses text as markup.

import { type Hex, parseAddress } from "executable-address";
import type { Simulation } from "executable-address/client";
import type { ServiceStatus } from "executable-address/status";
import { drawRecord, element, sayChain } from "./drawing/draw.ts";
import { followStatus } from "./follow.ts";
import { type LookedUp, lookUp } from "./look-up.ts";
import { attachRoot, Base, define } from "./mount.ts";
import { type News, noNews } from "./news.ts";
import { findSimulation } from "./simulation.ts";
import { decideStanding, findWrongTokens } from "./standing.ts";
import type { WalletFlow } from "./wallet/flow.ts";
import type { PaymentNow } from "./wallet/view.ts";
import { sayWalletName } from "./wallet/wallets.ts";
import { type ElementWords, elementWords, wordsFor } from "./words.ts";

export type { ElementWords } from "./words.ts";

/** The `detail` of the events `paid`, `executed`, and `expired`. Each event is dispatched once. */
export type AddressEventDetail = { readonly address: Hex; readonly status: ServiceStatus };

type RecordFound = Extract<LookedUp, { kind: "record" }>;

/** Used if the wallet code cannot be loaded. The element then offers no wallet buttons. */
const noWallets: WalletFlow = {
  wallets: () => [],
  view: () => ({ is: "offered", messages: [] }),
  pay() {},
  stop() {},
};

export class ExecutableAddressElement extends Base {
  static observedAttributes = ["address", "base-url", "mirrors", "lang"];

  #stop = () => {};
  #simulate = () => {};
  #lookedUp: LookedUp = { kind: "loading" };
  #news = noNews;
  #simulation: Simulation | undefined;
  #dispatched = new Set<string>();
  #wallets: WalletFlow | undefined;
  #panel: typeof import("./drawing/draw-wallet.ts") | undefined;
  /**
   * The state and balance for which the element last requested a simulation. If the state or
   * balance changes, the element requests another simulation.
   */
  #simulated = "";
  #own: Partial<ElementWords> = {};
  #spoken: ElementWords = elementWords;
  #drawn = "";

  /**
   * Replaces some of the element's texts. The texts that are not replaced stay in the element's
   * language.
   */
  set words(words: Partial<ElementWords>) {
    this.#own = words;
    this.#draw();
  }

  get #words(): ElementWords {
    return { ...this.#spoken, ...this.#own };
  }

  async #speak() {
    this.#spoken = await wordsFor(this);
    this.#draw();
  }

  connectedCallback() {
    attachRoot(this);
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
    this.#simulated = "";
    this.#dispatched.clear();
    void this.#speak();
    this.#draw();
    const address = parsed(this.getAttribute("address"));
    const baseUrl = this.getAttribute("base-url")?.replace(/\/+$/, "");
    const mirrors = this.getAttribute("mirrors")?.match(/\S+/g) ?? [];
    if (!address || !baseUrl) return this.#show({ kind: "missing" });
    const stopping = new AbortController();
    const stopFollowing = followStatus({ address, baseUrl, report: (news) => this.#update(news) });
    const timer = setInterval(() => this.#draw(), 1_000);
    void this.#openWallets(baseUrl, stopping.signal);
    this.#stop = () => {
      stopping.abort();
      stopFollowing();
      this.#wallets?.stop();
      this.#wallets = undefined;
      clearInterval(timer);
    };
    void lookUp(baseUrl, mirrors, address, stopping.signal).then((lookedUp) => {
      if (!stopping.signal.aborted) this.#show(lookedUp);
    });
    this.#simulate = () =>
      void findSimulation(baseUrl, address, stopping.signal).then((found) => {
        if (stopping.signal.aborted) return;
        this.#simulation = found.kind === "done" ? found.simulation : undefined;
        this.#draw();
      });
    this.#simulate();
  }

  /**
   * Loads the wallet module. Only this module knows whether a payment is pending. The element
   * therefore shows no QR code until the module is loaded.
   */
  async #openWallets(baseUrl: string, signal: AbortSignal) {
    const loaded = await import("./drawing/draw-wallet.ts").catch(() => undefined);
    if (signal.aborted) return;
    const options = { baseUrl, now: () => this.#payment(), change: () => this.#draw() };
    this.#wallets = loaded?.openWalletFlow(options) ?? noWallets;
    this.#panel = loaded;
    this.#draw();
  }

  #show(lookedUp: LookedUp) {
    this.#lookedUp = lookedUp;
    this.#dispatchEvents();
    this.#draw();
  }

  #update(news: News) {
    this.#news = news;
    const { status } = news;
    const known = status ? `${status.state} ${status.balance}` : "";
    if (known !== this.#simulated && this.#simulated !== "") this.#simulate();
    this.#simulated = known;
    this.#dispatchEvents();
    this.#draw();
  }

  /** Dispatches each event at most once, and only if the record is verified. */
  #dispatchEvents() {
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
      if (this.#dispatched.has(name)) continue;
      this.#dispatched.add(name);
      const detail: AddressEventDetail = { address, status };
      this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
    }
  }

  #payment(): PaymentNow | undefined {
    const standing = this.#standing();
    if (this.#lookedUp.kind !== "record" || !standing) return undefined;
    const { record } = this.#lookedUp;
    const { status } = this.#news;
    const chainName = sayChain(this.#lookedUp, this.#words);
    return { record, standing, status, chainName, walletChain: undefined };
  }

  #standing() {
    if (this.#lookedUp.kind !== "record") return undefined;
    const { intent } = this.#lookedUp.record;
    return decideStanding(intent, this.#news, this.#simulation, Math.floor(Date.now() / 1000));
  }

  /** Redraws only after a change, because a redraw interrupts screen readers and button presses. */
  #draw() {
    if (!this.shadowRoot) return;
    const lookedUp = this.#lookedUp;
    const words = this.#words;
    const standing = this.#standing();
    const { isSilent, status } = this.#news;
    const wrongTokens = standing ? findWrongTokens(status, standing) : [];
    const view = this.#wallets?.view();
    const wallets = (this.#wallets?.wallets() ?? []).map((wallet) => ({
      name: sayWalletName(wallet, words.injectedWallet),
      pay: () => this.#wallets?.pay(wallet),
    }));
    const { secondsLeft, ...lasting } = standing ?? {};
    const drawn = JSON.stringify([
      ...[lookedUp, lasting, isSilent, wrongTokens],
      ...[words, view, wallets],
    ]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const page = this.getAttribute("base-url")?.replace(/\/v1\/*$/, "");
    const drawWallet = (record: RecordFound) => ({
      drawn: (view && this.#panel?.drawView(view, record, words)) ?? [],
      isInProgress: (view && this.#panel?.isInProgress(view)) ?? false,
    });
    const wallet = view && lookedUp.kind === "record" ? drawWallet(lookedUp) : undefined;
    const parts =
      lookedUp.kind === "record" && standing
        ? drawRecord({ lookedUp, standing, isSilent, wrongTokens, words, page, wallet, wallets })
        : [element("p", "status", sayNothing(lookedUp.kind, words))];
    this.shadowRoot.replaceChildren(...parts);
  }
}

function sayNothing(kind: LookedUp["kind"], words: ElementWords): string {
  if (kind === "wrong") return words.wrong;
  if (kind === "missing") return words.missingTitle;
  if (kind === "unreachable") return `${words.unreachableTitle}. ${words.doNotPayYet}`;
  return words.checking;
}

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

define("executable-address", ExecutableAddressElement);
