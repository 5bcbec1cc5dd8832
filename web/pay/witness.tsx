// Uses the payer's wallet to confirm the outcome: the wallet's own node returns the block, and the
// service's proof must match that block. Never prompts the user to connect.

import type { AddressRecord, Hex } from "executable-address";
import { ask, type Standing, type Wallet } from "executable-address-element/page";
import { useEffect, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { fetchProof } from "../shown/proved.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { Notice } from "../ui/notice.tsx";
import { useWallets } from "./wallet/wallets.ts";

type Verdict = { is: "unknown" } | { is: "contradicted" } | { is: "confirmed"; block: number };

/** A block may have been replaced by a reorganization, so a contradiction is checked again. */
const againMs = 5_000;

/**
 * Shows whether the wallet's node confirms a final state. Shows nothing without a connected wallet.
 */
export function Witness({ state }: { state: Standing["state"] }) {
  const { say } = useSpeech();
  const verdict = useVerdict(state);
  if (verdict.is === "unknown") return null;
  if (verdict.is === "contradicted") {
    return (
      <Notice tone="bad">
        <p>{say("walletContradicts")}</p>
      </Notice>
    );
  }
  return (
    <p className="mt-3 text-sm text-soft">
      <Said as="walletConfirms" block={verdict.block} />
    </p>
  );
}

function useVerdict(state: Standing["state"]): Verdict {
  const { record } = useAbout();
  const wallets = useWallets();
  const [verdict, setVerdict] = useState<Verdict>({ is: "unknown" });
  useEffect(() => {
    let isGone = false;
    const isExecuted = state === "executed";
    const find = async (): Promise<Verdict> => {
      for (const { provider } of wallets) {
        const request = () => requestVerdict(provider, record, isExecuted).catch(() => undefined);
        let found = await request();
        if (found?.is === "contradicted") {
          await new Promise((resolve) => setTimeout(resolve, againMs));
          found = await request();
        }
        if (found) return found;
      }
      return { is: "unknown" };
    };
    void find().then((found) => !isGone && setVerdict(found));
    return () => {
      isGone = true;
    };
  }, [wallets, record, state]);
  return verdict;
}

/** @returns undefined if the wallet is not connected, is on another chain, or lacks the block */
async function requestVerdict(
  provider: Wallet["provider"],
  record: AddressRecord,
  isExecuted: boolean,
): Promise<Verdict | undefined> {
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
    return isSame ? { is: "confirmed", block: block.number } : { is: "contradicted" };
  } catch {
    return { is: "contradicted" };
  }
}

async function requestHash(provider: Wallet["provider"], number: number): Promise<Hex | undefined> {
  const at = [`0x${number.toString(16)}`, false];
  return (await ask<{ hash: Hex } | null>(provider, "eth_getBlockByNumber", at))?.hash;
}
