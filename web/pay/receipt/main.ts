// A receipt that checks itself: on the service's page, where it is made, and in the file that a
// person keeps, which asks nobody. Both run this script.

import { type AddressRecord, InvalidError } from "executable-address";
import {
  type AddressProof,
  type PaymentProof,
  ProofError,
  type ProvedReceipt,
  receiptFormat,
  type SavedReceipt,
  verifyReceipt,
} from "executable-address/proof";
import { isSame, readChains } from "executable-address-element/page";
import "./receipt.css";
import { drawReceipt, type Shown } from "./draw.ts";
import { chooseLanguage, element, type Key, said, say } from "./speech.ts";
import { askEndpoints, askWallets, followWallets, type Testimony, type Wallet } from "./witness.ts";

/** `mark` is the service's own, as a data URL: a kept file asks nobody for it. */
type Kept = { readonly receipt: SavedReceipt; readonly shown: Shown; readonly mark?: string };

const main = document.querySelector("main")!;
/** A kept file has its receipt in it, and a policy that lets it ask nobody. */
const kept = document.querySelector("#kept")?.textContent;
let mark = "/mark.svg";

start().catch((error) => refuse(error));

async function start() {
  if (kept) {
    const found = JSON.parse(kept) as Kept;
    mark = found.mark ?? mark;
    return show(found);
  }
  const address = location.pathname.split("/")[2];
  if (address) return show(await fetchReceipt(address));
  showChooser();
}

function showChooser() {
  main.replaceChildren(heading("check"), chooser(), chooseLanguage(showChooser));
}

async function fetchReceipt(address: string): Promise<Kept> {
  const get = async (path: string) => {
    const answer = await fetch(`/v1${path}`);
    if (!answer.ok) throw new NoAnswer(answer.status);
    return answer.json();
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
  const { symbol, decimals } = listed ?? {};
  return {
    receipt: { format: receiptFormat, record, proof, payments },
    shown: { chain: chain?.name, symbol, decimals },
  };
}

function show({ receipt, shown }: Kept): void {
  const proved = verifyReceipt(receipt, "its own");
  const blocks = proved.blocks.map(({ number, hash }) =>
    said("li", "blockIs", { number: String(number), hash: element("code", hash) }),
  );
  main.replaceChildren(
    heading("title"),
    ...(kept ? [said("p", "fromSomeone")] : []),
    ...drawReceipt(proved, shown),
    said("h2", "rests"),
    said("p", "restsText"),
    element("ol", ...blocks),
    ...(kept ? [] : [witnesses(proved)]),
    buttons({ receipt, shown }),
    ...(kept ? [] : [chooser()]),
    chooseLanguage(() => show({ receipt, shown })),
  );
}

function heading(key: "check" | "title"): HTMLElement {
  const picture = document.createElement("img");
  Object.assign(picture, { src: mark, alt: "" });
  return element("h1", picture, say(key));
}

/** The service gave no receipt. */
class NoAnswer extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`HTTP ${status}`);
    this.status = status;
  }
}

/** The sentence for a refusal, and what in the receipt is wrong, for those who can use it. */
function sayRefusal(error: unknown): [sentence: Key, detail?: string] {
  if (error instanceof ProofError) return ["wrongProof", error.message];
  if (error instanceof InvalidError) return ["wrongRecord", error.message];
  if (error instanceof SyntaxError) return ["noReceipt"];
  if (!(error instanceof NoAnswer)) return ["away"];
  const isMissing = error.status === 404 || error.status === 400;
  return isMissing ? ["missing"] : ["away", error.message];
}

/** Never a part of a receipt that is refused: only why. */
function refuse(error: unknown): void {
  const [sentence, detail] = sayRefusal(error);
  const alert = said("p", sentence);
  alert.setAttribute("role", "alert");
  main.replaceChildren(
    heading("title"),
    alert,
    ...(detail ? [element("p", element("small", element("code", detail)))] : []),
    ...(kept ? [] : [chooser()]),
    chooseLanguage(() => refuse(error)),
  );
}

/** Endpoints that the reader names, and the wallets of this browser. */
function witnesses({ blocks, record }: ProvedReceipt): HTMLElement {
  const { chainId } = record.intent;
  const field = document.createElement("textarea");
  field.placeholder = "https://node.example";
  const label = element("label", say("endpoints"), field);
  const answers = element("ul");
  const status = element("div", answers);
  status.setAttribute("role", "status");
  let wallets: readonly Wallet[] = [];
  const tell = (said: readonly Testimony[]) =>
    answers.replaceChildren(
      ...said.map(({ name, error }) => element("li", `${name}: ${error ?? say("hasAll")}`)),
    );
  const urls = () => field.value.split(/\s+/).filter((text) => URL.canParse(text));
  const endpoints = button(say("askEndpoints"), async () =>
    tell(await askEndpoints(urls(), chainId, blocks)),
  );
  const wallet = button(say("askWallet"), async () =>
    tell(await askWallets(wallets, chainId, blocks)),
  );
  wallet.hidden = true;
  followWallets((found) => {
    wallets = found;
    wallet.hidden = false;
  });
  return element("section", label, element("p", endpoints, " ", wallet), status);
}

function buttons({ receipt, shown }: Kept): HTMLElement {
  const name = `receipt-${receipt.record.address}`;
  const json = button(say("saveJson"), async () =>
    save(`${name}.json`, "application/json", JSON.stringify(receipt, null, 1)),
  );
  const html = button(say("save"), async () =>
    save(`${name}.html`, "text/html", await fileOf({ receipt, shown })),
  );
  const print = button(say("print"), async () => window.print());
  return element("p", ...(kept ? [] : [html, " "]), json, " ", print);
}

/** One file without a request: this script, its style, and the receipt. */
async function fileOf(found: Kept): Promise<string> {
  const [script, style, picture] = await Promise.all(
    ["/receipt.js", "/receipt.css", mark].map(async (path) => (await fetch(path)).text()),
  );
  const kept: Kept = { ...found, mark: `data:image/svg+xml,${encodeURIComponent(picture!)}` };
  const policy = [
    ...["default-src 'none'", "img-src data:"],
    ...["script-src 'unsafe-inline'", "style-src 'unsafe-inline'"],
  ].join("; ");
  // Within a script no text may end it.
  const data = JSON.stringify(kept).replaceAll("<", "\\u003c");
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Receipt</title>',
    `<style>${style}</style></head><body><main></main>`,
    `<script type="application/json" id="kept">${data}</script>`,
    `<script>${script!.replaceAll("</script", "<\\/script")}</script></body></html>`,
  ].join("\n");
}

/** A receipt from a file, as JSON or as the page that was kept. */
function chooser(): HTMLElement {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,.html";
  input.onchange = async () => {
    try {
      const text = (await input.files?.[0]?.text()) ?? "";
      const page = new DOMParser().parseFromString(text, "text/html").querySelector("#kept");
      show(page ? JSON.parse(page.textContent) : { receipt: JSON.parse(text), shown: {} });
    } catch (error) {
      refuse(error);
    }
  };
  return element("p", element("label", `${say("checkFile")} `, input));
}

function button(text: string, press: () => Promise<void>): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.append(text);
  made.onclick = () => void press().catch(refuse);
  return made;
}

function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
