// Asks endpoints of the user's choice, and the wallets of this browser, whether the blocks of a
// receipt belong to the chain.

import type { Hex } from "executable-address";
import type { ProvedReceipt } from "executable-address/proof";
import { httpRpc } from "executable-address/status";
import { followWallets, isSame, sayWalletName, type Wallet } from "executable-address-element/page";
import { useEffect, useState } from "react";
import { type Key, useSpeech } from "./words.ts";

type Block = { readonly number: number; readonly hash: Hex };
type Request = (method: string, params: readonly unknown[]) => Promise<unknown>;
type Answer = { readonly as: Key; readonly values?: Readonly<Record<string, number>> };
type Result = Answer & { readonly name: string };

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

/** Requests each of `blocks` by its number and compares the hashes. Never throws. */
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
    // Error texts of browsers and wallets are not in the page's language.
    return { as: "noAnswer" };
  }
}
