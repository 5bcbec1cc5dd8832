// Shows a receipt and verifies it in the browser. The service's receipt page and every saved file
// run this script. A saved file makes no requests.

import "./receipt.css";
import { type Hex, InvalidError } from "executable-address";
import { ProofError, type ProvedReceipt, verifyReceipt } from "executable-address/proof";
import { httpRpc } from "executable-address/status";
import {
  type Chain,
  followWallets,
  isSame,
  readChains,
  sayWalletName,
  type Wallet,
} from "executable-address-element/page";
import { type ReactNode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { LanguageSelect } from "../../ui/words/speech.tsx";
import { ProvedText } from "./proved-text.tsx";
import {
  fetchReceipt,
  NoAnswer,
  type OpenedReceipt,
  readReceipt,
  save,
  writePage,
} from "./saved.ts";
import { type Key, Said, Speaking, useSpeech } from "./words.ts";

/**
 * The receipt, if this page is a saved file. The policy of a saved file forbids requests, so the
 * file contains the receipt.
 */
const saved = document.querySelector("#receipt")?.textContent ?? undefined;

const mark = saved === undefined ? "/mark.svg" : findMark(saved);

function findMark(text: string): string | undefined {
  try {
    return (JSON.parse(text) as OpenedReceipt).mark;
  } catch {
    return undefined;
  }
}

type View =
  | { is: "choosing" }
  | { is: "verified"; opened: OpenedReceipt; proved: ProvedReceipt; chain: Chain | undefined }
  | { is: "refused"; error: unknown };

async function open(read: () => OpenedReceipt | Promise<OpenedReceipt>): Promise<View> {
  try {
    const opened = await read();
    const proved = verifyReceipt(opened.receipt, "its own");
    return { is: "verified", opened, proved, chain: readNames(opened, proved) };
  } catch (error) {
    return { is: "refused", error };
  }
}

/** Names and decimals are not proven. The page validates them like a chain list from a server. */
function readNames({ shown }: OpenedReceipt, { record }: ProvedReceipt): Chain | undefined {
  const { chainId, token: address } = record.intent;
  const { chain: name, symbol, decimals } = shown ?? {};
  return readChains({ chains: [{ chainId, name, tokens: [{ symbol, decimals, address }] }] })[0];
}

function openFirst(): Promise<View> | View {
  if (saved) return open(() => JSON.parse(saved) as OpenedReceipt);
  const address = location.pathname.split("/")[2];
  return address ? open(() => fetchReceipt(address)) : { is: "choosing" };
}

function Receipt({ first }: { first: View }) {
  const { say } = useSpeech();
  const [view, setView] = useState(first);
  useEffect(() => {
    document.title = say("title");
  }, [say]);
  const choose = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (!file) return;
    setView(await open(async () => readReceipt(await file.text())));
    // Resets the input. Without the reset, the browser reports no change if the user selects the
    // same file again.
    input.value = "";
  };
  return (
    <>
      <h1>
        <img src={mark} alt="" />
        {say(view.is === "choosing" ? "check" : "title")}
      </h1>
      {view.is === "refused" && <Refusal error={view.error} />}
      {view.is === "verified" && (
        <Verified view={view} onFail={(error) => setView({ is: "refused", error })} />
      )}
      {!saved && (
        <p>
          <label>
            {say("checkFile")}{" "}
            <input
              type="file"
              accept=".json,.html"
              onChange={(event) => void choose(event.currentTarget)}
            />
          </label>
        </p>
      )}
      <p>
        <LanguageSelect />
      </p>
    </>
  );
}

type VerifiedProps = {
  view: Extract<View, { is: "verified" }>;
  onFail: (error: unknown) => void;
};

function Verified({ view: { opened, proved, chain }, onFail }: VerifiedProps) {
  const { say } = useSpeech();
  const name = `receipt-${proved.record.address}`;
  const saveJson = () =>
    save(`${name}.json`, "application/json", JSON.stringify(opened.receipt, null, 1));
  const savePage = () =>
    writePage(opened).then((text) => save(`${name}.html`, "text/html", text), onFail);
  return (
    <>
      {saved && <p>{say("fromSomeone")}</p>}
      <ProvedText proved={proved} chain={chain} />
      <h2>{say("rests")}</h2>
      <p>{say("restsText")}</p>
      <ol>
        {proved.blocks.map(({ number, hash }) => (
          <li key={hash}>
            <Said as="blockIs" number={number} hash={<code>{hash}</code>} />
          </li>
        ))}
      </ol>
      {!saved && <Witnesses proved={proved} />}
      <p>
        {!saved && <Press onPress={() => void savePage()}>{say("save")}</Press>}{" "}
        <Press onPress={saveJson}>{say("saveJson")}</Press>{" "}
        <Press onPress={() => window.print()}>{say("print")}</Press>
      </p>
    </>
  );
}

const Press = ({ onPress, children }: { onPress: () => void; children: ReactNode }) => (
  <button type="button" onClick={onPress}>
    {children}
  </button>
);

/** Explains why a receipt is invalid. Does not show the receipt. */
function Refusal({ error }: { error: unknown }) {
  const { say } = useSpeech();
  const [sentence, detail] = readRefusal(error);
  return (
    <>
      <p role="alert">{say(sentence)}</p>
      {detail && (
        <p>
          <small>
            <code>{detail}</code>
          </small>
        </p>
      )}
    </>
  );
}

function readRefusal(error: unknown): [sentence: Key, detail?: string] {
  if (error instanceof ProofError) return ["wrongProof", error.message];
  if (error instanceof InvalidError) return ["wrongRecord", error.message];
  if (error instanceof SyntaxError) return ["noReceipt"];
  if (!(error instanceof NoAnswer)) return ["away"];
  const isMissing = error.status === 404 || error.status === 400;
  return isMissing ? ["missing"] : ["away", error.message];
}

type Block = { readonly number: number; readonly hash: Hex };
type Request = (method: string, params: readonly unknown[]) => Promise<unknown>;
type Answer = { readonly as: Key; readonly values?: Readonly<Record<string, number>> };
type Result = Answer & { readonly name: string };

/**
 * Checks whether the blocks of a receipt belong to the chain. Requests the blocks from the
 * endpoints that the user enters, and from this browser's wallets.
 */
export function Witnesses({ proved }: { proved: ProvedReceipt }) {
  const { blocks, record } = proved;
  const { chainId } = record.intent;
  const { say } = useSpeech();
  const [wallets, setWallets] = useState<readonly Wallet[]>([]);
  const [results, setResults] = useState<readonly Result[]>([]);
  const [text, setText] = useState("");
  useEffect(() => followWallets(setWallets), []);
  const ask = async (witnesses: readonly (readonly [name: string, request: Request])[]) => {
    const check = async ([name, request]: (typeof witnesses)[number]) => ({
      name,
      ...(await requestBlocks(request, chainId, blocks)),
    });
    setResults(await Promise.all(witnesses.map(check)));
  };
  const urls = text.split(/\s+/).filter((each) => URL.canParse(each));
  const askEndpoints = () => ask(urls.map((url) => [url, httpRpc(url)]));
  const askWallets = () =>
    ask(
      wallets.map((wallet) => [
        sayWalletName(wallet, say("yourWallet")),
        (method, params) => wallet.provider.request({ method, params }),
      ]),
    );
  return (
    <section>
      <label>
        {say("endpoints")}
        <textarea
          placeholder="https://node.example"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <p>
        <button type="button" onClick={() => void askEndpoints()}>
          {say("askEndpoints")}
        </button>{" "}
        {wallets.length > 0 && (
          <button type="button" onClick={() => void askWallets()}>
            {say("askWallet")}
          </button>
        )}
      </p>
      <div role="status">
        <ul>
          {results.map(({ name, as, values }, at) => (
            <li key={at.toString()}>
              {name}: {say(as, values)}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/**
 * Requests each block by its number, and compares its hash with the hash in the receipt. Never
 * throws.
 */
async function requestBlocks(
  request: Request,
  chainId: number,
  blocks: readonly Block[],
): Promise<Answer> {
  try {
    const chain = Number(await request("eth_chainId", []));
    if (chain !== chainId) return { as: "otherChain", values: { id: chain } };
    const found = await Promise.all(
      blocks.map(async ({ number, hash }) => {
        const byNumber = ["eth_getBlockByNumber", [`0x${number.toString(16)}`, false]] as const;
        const block = (await request(...byNumber)) as { hash?: string } | null;
        return isSame(String(block?.hash), hash);
      }),
    );
    const count = found.filter(Boolean).length;
    if (count === blocks.length) return { as: "hasAll" };
    return { as: "hasSome", values: { count, all: blocks.length } };
  } catch {
    // The error's own text may be in another language than the page.
    return { as: "noAnswer" };
  }
}

void Promise.resolve(openFirst()).then((first) =>
  createRoot(document.querySelector("main")!).render(
    <Speaking>
      <Receipt first={first} />
    </Speaking>,
  ),
);
