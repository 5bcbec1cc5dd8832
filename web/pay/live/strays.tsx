// Money that arrived and is not what is asked for: another listed token, or the chain's coin.

import type { TokenAmount } from "executable-address/status";
import { useAbout } from "../../shown/about.tsx";
import { ShortParty } from "../../shown/address-text.tsx";
import { Said, useSpeech } from "../../shown/words/say.tsx";
import { sayMoment } from "../../shown/words/say-when.ts";
import { Notice } from "../../ui/notice.tsx";

type StraysProps = { strays: readonly TokenAmount[] | null | undefined; owed: string };

export function Strays({ strays, owed }: StraysProps) {
  const { intent, sayAmount, sayHeld } = useAbout();
  const { say, language } = useSpeech();
  if (!strays || strays.length === 0) return null;
  const held = strays.map(sayHeld).join(", ");
  return (
    <div className="ask-all">
      <Notice tone="warn" title={say("wrongArrived", { held, amount: sayAmount(owed) })}>
        <p>
          <Said
            as="wrongArrivedText"
            date={sayMoment(intent.expirationTimestamp, language)}
            address={<ShortParty address={intent.recovery} />}
          />
        </p>
      </Notice>
    </div>
  );
}
