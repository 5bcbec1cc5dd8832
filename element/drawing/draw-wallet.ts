// Draws the element's section for paying with a browser wallet. This module is loaded separately,
// because only payers with a wallet need it.

import { formatUnits, inertText, shortAddress } from "executable-address/payment";
import { coinDecimals } from "../tokens.ts";
import type { Value, WalletView } from "../wallet/view.ts";
import type { ElementWords } from "../words.ts";
import { button, element, type Named, sayAmount, sayChain, sentence } from "./draw.ts";

export { openWalletFlow } from "../wallet/flow.ts";
export { isInProgress } from "../wallet/view.ts";

export function drawView(view: WalletView, lookedUp: Named, words: ElementWords): Node[] {
  if (view.messages.length === 0) return [];
  const isGood = view.is !== "decline" && view.is !== "failed" && view.is !== "offered";
  const line = element("div", isGood ? "wallet" : "wallet warning", "");
  line.setAttribute("role", "status");
  if (view.title) line.append(element("p", "wallet-title", words[view.title]));
  for (const { word, values = {} } of view.messages) {
    const places = Object.entries(values).map(([name, value]) => [
      name,
      sayValue(value, lookedUp, words),
    ]);
    line.append(sentence("wallet-text", words[word], Object.fromEntries(places)));
  }
  const { action } = view;
  if (action) line.append(button("forget", words[action.word], action.press));
  return [line];
}

function sayValue(value: Value, lookedUp: Named, words: ElementWords): string {
  switch (value.is) {
    case "amount":
      return sayAmount(value.units, lookedUp, words);
    case "coin":
      return `${formatUnits(value.wei, coinDecimals)} ${words.nativeCoin}`;
    case "address":
      return shortAddress(value.address);
    case "chain":
      return sayChain(lookedUp, words);
    case "block":
      return `${value.number}`;
    case "time":
      return new Date(value.ms).toLocaleTimeString();
    case "reason":
      return inertText(value.text);
  }
}
