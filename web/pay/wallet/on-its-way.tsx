import {
  type Fate,
  isOver,
  type Kept,
  type News,
  type Standing,
} from "executable-address-element/page";
import { useEffect } from "react";
import { useAbout } from "../../shown/about.tsx";
import { Transaction } from "../../shown/transaction.tsx";
import { Said, useSpeech } from "../../shown/words/say.tsx";
import { sayClock } from "../../shown/words/say-when.ts";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import { RefusalText, StepText } from "./panel.tsx";
import type { PaymentHere } from "./use-payment.ts";

type Props = { payment: PaymentHere; kept: Kept; standing: Standing; news: News };

/** In place of every way to pay, until it is certain what became of what was asked for. */
export function OnItsWay({ payment, kept, standing, news }: Props) {
  const { sayAmount } = useAbout();
  const { say, language } = useSpeech();
  const { fate, forget } = payment;
  const isSeen = fate.kind === "mined" && (news.status?.block.number ?? 0) >= fate.block;
  useEffect(() => {
    if (isSeen) forget();
  }, [isSeen, forget]);

  if (!kept.hash) return <StillAsking {...{ payment, kept, standing }} />;
  const failed = failedText(fate);
  const isDoubtful = fate.kind === "dropped" || fate.kind === "unwatched";
  return (
    <div className="ask-all space-y-3">
      <Notice tone={failed ? "bad" : "plain"} title={failed ? undefined : say("onItsWay")}>
        {!failed && (
          <p>
            <Said
              as="onItsWayText"
              time={sayClock(kept.sinceMs, language)}
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

/** The wallet was asked and has not said what it did: a second request could pay twice. */
function StillAsking({ payment, kept, standing }: Omit<Props, "news">) {
  const { sayAmount } = useAbout();
  const { say } = useSpeech();
  const { asking, forget } = payment;
  // The wallet asks for an amount that is no longer owed: some came another way, or it is over.
  const isVoid = standing.owed !== kept.amount || isOver(standing);
  const isHere = asking.is === "asking";
  return (
    <div className="ask-all">
      <Notice
        tone={isVoid ? "bad" : "plain"}
        title={say(isVoid ? "declineIt" : isHere ? "walletAsks" : "stillAsking")}
        action={
          !isHere && (
            <Button small onClick={forget}>
              {say("forgetIt")}
            </Button>
          )
        }
      >
        <p role="status">
          {isVoid ? (
            <Said as="declineText" amount={sayAmount(kept.amount)} />
          ) : isHere ? (
            <StepText step={asking.step} owed={kept.amount} />
          ) : (
            <Said as="stillAskingText" amount={sayAmount(kept.amount)} />
          )}
        </p>
        {asking.is === "refused" && <RefusalText refusal={asking.refusal} owed={kept.amount} />}
      </Notice>
    </div>
  );
}

const failedText = ({ kind }: { kind: string }) =>
  kind === "reverted" || kind === "cancelled" || kind === "replaced";

function FateText({ fate }: { fate: Fate | { kind: "unwatched" } }) {
  const { say } = useSpeech();
  switch (fate.kind) {
    case "asking":
      return say("stillAsking");
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
