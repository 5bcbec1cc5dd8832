// `executable-address-element/recovery`: <executable-recovery for="ID"> asks the customer's wallet
// for an account. The element then enters the account into the field with that ID. The shop can
// return late and excess payments to this account.

import { type Hex, parseAddress } from "executable-address";
import { button, element } from "./drawing/draw.ts";
import { attachRoot, Base, define } from "./mount.ts";
import { ask, PaymentRefused, type WalletProvider } from "./wallet/provider.ts";
import { connect } from "./wallet/send.ts";
import { followWallets, sayWalletName, type Wallet } from "./wallet/wallets.ts";
import { type ElementWords, elementWords, fill, wordsFor } from "./words.ts";

/** If no wallet is found within this time, the element says that it found none. */
const patienceMs = 600;

export class ExecutableRecoveryElement extends Base {
  #stop = () => {};
  #wallets: readonly Wallet[] = [];
  #words: ElementWords = elementWords;
  #said: keyof ElementWords | undefined;
  #isWarning = false;

  connectedCallback() {
    attachRoot(this);
    const stopFollowing = followWallets((wallets) => {
      this.#wallets = wallets;
      if (this.#said === "recoveryNoWallet") this.#said = undefined;
      this.#draw();
    });
    const timer = setTimeout(() => {
      if (this.#wallets.length === 0) this.#say("recoveryNoWallet");
    }, patienceMs);
    this.#stop = () => {
      stopFollowing();
      clearTimeout(timer);
    };
    void wordsFor(this).then((words) => {
      this.#words = words;
      this.#draw();
    });
  }

  disconnectedCallback() {
    this.#stop();
  }

  async #take({ provider }: Wallet) {
    this.#say("stepConnect");
    try {
      const account = parseAddress((await connect(provider)).toLowerCase());
      const isForeign = await isContract(provider, account);
      this.#put(account);
      this.#say(isForeign ? "recoveryContract" : "recoveryTaken", isForeign);
    } catch (error) {
      const { kind } = error instanceof PaymentRefused ? error.refusal : { kind: "no_account" };
      const isDeclined = kind === "rejected" || kind === "busy";
      this.#say(isDeclined ? "recoveryDeclined" : "recoveryNone", true);
    }
  }

  #put(account: Hex) {
    const root = this.getRootNode() as Document | ShadowRoot;
    const field = root.getElementById(this.getAttribute("for") ?? "");
    if (!(field instanceof HTMLInputElement)) return;
    field.value = account;
    for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
  }

  #say(name: keyof ElementWords, isWarning = false) {
    this.#said = name;
    this.#isWarning = isWarning;
    this.#draw();
  }

  #draw() {
    const words = this.#words;
    const buttons = this.#wallets.map((wallet) => {
      const name = sayWalletName(wallet, words.injectedWallet);
      return button("pay", fill(words.recoveryAsk, { wallet: name }), () => this.#take(wallet));
    });
    const line = element(
      "p",
      this.#isWarning ? "status warning" : "status",
      this.#said ? words[this.#said] : "",
    );
    line.setAttribute("role", "status");
    this.shadowRoot?.replaceChildren(...buttons, line);
  }
}

/**
 * Returns whether the account is a contract. An account that delegates to a contract (EIP-7702)
 * does not count. The account's key still controls it.
 */
async function isContract(provider: WalletProvider, account: Hex): Promise<boolean> {
  const code = await ask<unknown>(provider, "eth_getCode", [account, "latest"]);
  return code !== "0x" && !(typeof code === "string" && /^0xef0100[0-9a-f]{40}$/i.test(code));
}

declare global {
  interface HTMLElementTagNameMap {
    "executable-recovery": ExecutableRecoveryElement;
  }
}

define("executable-recovery", ExecutableRecoveryElement);
