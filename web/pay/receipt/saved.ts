// Fetches, saves, and reads receipts. A saved receipt is either JSON or a page. The page contains
// the receipt, this script, and its style.

import type { AddressRecord } from "executable-address";
import {
  type AddressProof,
  type PaymentProof,
  receiptFormat,
  type SavedReceipt,
} from "executable-address/proof";
import { isSame, readChains } from "executable-address-element/page";

/** Not verified yet. */
export type OpenedReceipt = {
  readonly receipt: SavedReceipt;
  /** Names and decimals from the service. The proof does not cover these values. */
  readonly shown?: {
    readonly chain?: string;
    readonly symbol?: string;
    readonly decimals?: number;
  };
  /** The service's logo as a data URL, because a saved page makes no requests. */
  readonly mark?: string;
};

/** The service did not return a receipt. */
export class NoAnswer extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`HTTP ${status}`);
    this.status = status;
  }
}

/** @throws {NoAnswer} if the service returns an error, or an answer that is not JSON */
export async function fetchReceipt(address: string): Promise<OpenedReceipt> {
  const get = async (path: string) => {
    const answer = await fetch(`/v1${path}`);
    const body: unknown = answer.ok ? await answer.json().catch(() => undefined) : undefined;
    if (body === undefined) throw new NoAnswer(answer.status);
    return body;
  };
  const at = `/address/${encodeURIComponent(address)}`;
  const [record, answer, chains] = await Promise.all([
    get(at) as Promise<AddressRecord>,
    get(`${at}/proof`) as Promise<AddressProof & { payments: PaymentProof[] }>,
    get("/chains").catch(() => undefined),
  ]);
  const { payments, ...proof } = answer;
  const { chainId, token } = record.intent;
  const chain = readChains(chains).find((each) => each.chainId === chainId);
  const listed = chain?.tokens.find((each) => isSame(each.address, token));
  return {
    receipt: { format: receiptFormat, record, proof, payments },
    shown: {
      ...(chain && { chain: chain.name }),
      ...(listed && { symbol: listed.symbol, decimals: listed.decimals }),
    },
  };
}

/**
 * Reads a receipt from saved JSON or a saved page.
 *
 * @throws {SyntaxError} if the text is neither JSON nor a saved page
 */
export function readReceipt(text: string): OpenedReceipt {
  const page = new DOMParser().parseFromString(text, "text/html").querySelector("#receipt");
  return page ? JSON.parse(page.textContent) : { receipt: JSON.parse(text) };
}

/** Returns a self-contained page. */
export async function writePage(opened: OpenedReceipt): Promise<string> {
  const [script, style, mark] = await Promise.all(
    ["/receipt.js", "/receipt.css", "/mark.svg"].map(async (path) => (await fetch(path)).text()),
  );
  const whole: OpenedReceipt = {
    ...opened,
    mark: `data:image/svg+xml,${encodeURIComponent(mark!)}`,
  };
  const policy = [
    ...["default-src 'none'", "img-src data:"],
    ...["script-src 'unsafe-inline'", "style-src 'unsafe-inline'"],
  ].join("; ");
  // Escapes `<`, because `</script>` in the data would end the script element.
  const data = JSON.stringify(whole).replaceAll("<", "\\u003c");
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Receipt</title>',
    `<style>${style}</style></head><body><main></main>`,
    `<script type="application/json" id="receipt">${data}</script>`,
    `<script>${script!.replaceAll("</script", "<\\/script")}</script></body></html>`,
  ].join("\n");
}

/** Saves a text as a file, like a download. */
export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
