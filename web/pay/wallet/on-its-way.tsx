import type { News } from "executable-address/follow";
import { useEffect } from "react";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import { useAbout } from "../about.tsx";
import { sayClock } from "../live/say-when.ts";
import { Transaction } from "../live/transaction.tsx";
import { Said, useSpeech } from "../words/say.tsx";
import type { Fate } from "./fate.ts";
import type { Kept } from "./kept.ts";
import type { PaymentHere } from "./use-payment.ts";

type Props = { kept: Kept; fate: PaymentHere["fate"]; news: News; forget: () => void };

/** In place of every way to pay, until it is certain what became of what was sent. */
export function OnItsWay({ kept, fate, news, forget }: Props) {
  const { sayAmount } = useAbout();
  const { say, language } = useSpeech();
  const isSeen = fate.kind === "mined" && (news.status?.block.number ?? 0) >= fate.block;
  useEffect(() => {
    if (isSeen) forget();
  }, [isSeen, forget]);

  const failed = failedText(fate);
  const isDoubtful = fate.kind === "dropped" || fate.kind === "unwatched";
  return (
    <div className="ask-all space-y-3">
      <Notice tone={failed ? "bad" : "plain"} title={failed ? undefined : say("onItsWay")}>
        {!failed && (
          <p>
            <Said
              as="onItsWayText"
              time={sayClock(kept.sentAtMs, language)}
              amount={sayAmount(kept.amount)}
            />
          </p>
        )}
        <p role="status">
          <FateText fate={fate} />
        </p>
        <p className="mt-2 text-sm break-all">
          {say("transaction")} <Transaction hash={kept.hash} explorer={news.status?.explorer} />
        </p>
        {(failed || isDoubtful) && (
          <Button small className="mt-3" onClick={forget}>
            {say(failed ? "payAgain" : "forgetIt")}
          </Button>
        )}
      </Notice>
    </div>
  );
}

const failedText = ({ kind }: { kind: string }) =>
  kind === "reverted" || kind === "cancelled" || kind === "replaced";

function FateText({ fate }: { fate: Fate | { kind: "unwatched" } }) {
  const { say } = useSpeech();
  switch (fate.kind) {
    case "pending":
      return (
        <>
          {fate.isSped && <>{say("sped")} </>}
          {say("waitingForBlock")}
        </>
      );
    case "mined":
      return <Said as="mined" block={fate.block} />;
    case "reverted":
      return <Said as="reverted" block={fate.block} />;
    case "cancelled":
      return say("cancelled");
    case "replaced":
      return say("replaced");
    case "dropped":
      return say("dropped");
    case "elsewhere":
      return say("walletElsewhere");
    case "unwatched":
      return say("walletMissing");
  }
}
