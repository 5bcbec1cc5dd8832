// The wallet of the payer as a second witness: its own node names the block, and the service's
// proof has to show the outcome against that block. Nobody is asked to connect for it.

import type { AddressRecord, Hex } from "executable-address";
import { ask, type Standing, type Wallet } from "executable-address-element/page";
import { useEffect, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { fetchProof } from "../shown/proved.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { Notice } from "../ui/notice.tsx";
import { useWallets } from "./wallet/wallets.ts";

type Testimony = { is: "unheard" } | { is: "refuted" } | { is: "borne out"; block: number };

/** A block that was replaced meanwhile is no lie: what is refuted is asked for once more. */
const againMs = 5_000;

/** Says what the wallet's node shows of a final state; nothing where no wallet is connected. */
export function Witness({ state }: { state: Standing["state"] }) {
  const { say } = useSpeech();
  const testimony = useTestimony(state);
  if (testimony.is === "unheard") return null;
  if (testimony.is === "refuted") {
    return (
      <Notice tone="bad">
        <p>{say("walletRefutes")}</p>
      </Notice>
    );
  }
  return (
    <p className="mt-3 text-sm text-soft">
      <Said as="walletBearsOut" block={testimony.block} />
    </p>
  );
}

function useTestimony(state: Standing["state"]): Testimony {
  const { record } = useAbout();
  const wallets = useWallets();
  const [testimony, setTestimony] = useState<Testimony>({ is: "unheard" });
  useEffect(() => {
    let isGone = false;
    const isExecuted = state === "executed";
    const hear = async (): Promise<Testimony> => {
      for (const { provider } of wallets) {
        const testify = () => requestTestimony(provider, record, isExecuted).catch(() => undefined);
        let found = await testify();
        if (found?.is === "refuted") {
          await new Promise((resolve) => setTimeout(resolve, againMs));
          found = await testify();
        }
        if (found) return found;
      }
      return { is: "unheard" };
    };
    void hear().then((found) => !isGone && setTestimony(found));
    return () => {
      isGone = true;
    };
  }, [wallets, record, state]);
  return testimony;
}

/** @returns undefined for a wallet that is not connected, is on another chain or lacks the block */
async function requestTestimony(
  provider: Wallet["provider"],
  record: AddressRecord,
  isExecuted: boolean,
): Promise<Testimony | undefined> {
  const accounts = await ask<string[]>(provider, "eth_accounts");
  const chainId = Number(await ask<string>(provider, "eth_chainId"));
  if (accounts.length === 0 || chainId !== record.intent.chainId) return undefined;
  const proof = await fetchProof(record.address);
  if (!proof) return undefined;
  const blocks = [proof.block, ...(proof.execution ? [proof.execution.block] : [])];
  const found = await Promise.all(blocks.map(({ number }) => requestHash(provider, number)));
  const trusted = found.filter((hash) => hash !== undefined).map((hash) => ({ chainId, hash }));
  if (trusted.length < blocks.length) return undefined;
  const { verifyAddressProof } = await import("executable-address/proof");
  try {
    const { outcome, block } = verifyAddressProof(record, proof, trusted);
    const isSame = (outcome === "executed") === isExecuted;
    return isSame ? { is: "borne out", block: block.number } : { is: "refuted" };
  } catch {
    return { is: "refuted" };
  }
}

async function requestHash(provider: Wallet["provider"], number: number): Promise<Hex | undefined> {
  const at = [`0x${number.toString(16)}`, false];
  return (await ask<{ hash: Hex } | null>(provider, "eth_getBlockByNumber", at))?.hash;
}
