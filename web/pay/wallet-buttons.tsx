import type { AddressRecord, Hex } from "executable-address";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { InertText } from "./inert-text.tsx";
import { pay, useWallets, type Wallet } from "./wallet.ts";

type Progress =
  | { step: "idle" }
  | { step: "asking"; uuid: string }
  | { step: "sent"; hash: Hex }
  | { step: "refused"; reason: string };

/** One button per wallet of this browser; nothing at all where there is none. */
export function WalletButtons({ record, amount }: { record: AddressRecord; amount: string }) {
  const wallets = useWallets();
  const [progress, setProgress] = useState<Progress>({ step: "idle" });
  const ask = (wallet: Wallet) => {
    setProgress({ step: "asking", uuid: wallet.info.uuid });
    pay(wallet, record, amount).then(
      (hash) => setProgress({ step: "sent", hash }),
      (error: Error) => setProgress({ step: "refused", reason: error.message }),
    );
  };

  if (progress.step === "sent") {
    return (
      <Notice tone="good" title="Sent">
        <p className="break-all">
          Transaction <code>{progress.hash}</code>
        </p>
      </Notice>
    );
  }
  return (
    <div className="space-y-3">
      {progress.step === "refused" && <Notice tone="bad">{progress.reason}</Notice>}
      {wallets.map((wallet) => (
        <Button
          key={wallet.info.uuid}
          look="primary"
          className="w-full"
          busy={progress.step === "asking" && progress.uuid === wallet.info.uuid}
          onClick={() => ask(wallet)}
        >
          <span className="truncate">
            Pay with <InertText text={wallet.info.name} />
          </span>
        </Button>
      ))}
    </div>
  );
}
