import { useSpeech } from "../../shown/words/say.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { QrCode } from "../../ui/qr-code.tsx";
import type { Pairing } from "./walletconnect.ts";

/** In place of every way to pay: no wallet may take this code for an address, nor the other. */
export function Pair({ pairing: { uri, cancel } }: { pairing: Pairing }) {
  const { say } = useSpeech();
  return (
    <>
      <div className="ask-code">
        <QrCode text={uri} label={say("pairQr")} />
      </div>
      <div className="ask-words">
        <h2 className="text-base">{say("pairTitle")}</h2>
        <p className="text-sm text-soft">{say("pairText")}</p>
        <p>
          <a className="link" href={uri}>
            {say("openInWallet")}
          </a>
        </p>
        <div className="flex flex-wrap gap-2">
          <CopyButton text={uri} what={say("link")}>
            {say("link")}
          </CopyButton>
          <Button small onClick={cancel}>
            {say("cancel")}
          </Button>
        </div>
      </div>
    </>
  );
}
