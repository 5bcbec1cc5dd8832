// Money that arrived and is not what is asked for: another listed token, or the chain's coin.

import { formatUnits } from "executable-address/page";
import type { TokenAmount } from "executable-address/status";
import { useAbout } from "../../shown/about.tsx";
import { ShortParty } from "../../shown/address-text.tsx";
import { findToken } from "../../shown/reading.ts";
import { nativeCoin } from "../../shown/simulation.ts";
import { Said, useSpeech } from "../../shown/words/say.tsx";
import { sayMoment } from "../../shown/words/say-when.ts";
import { Notice } from "../../ui/notice.tsx";
import { knownChains } from "../wallet/known-chains.ts";

const coinDecimals = 18;

type StraysProps = { strays: readonly TokenAmount[] | null | undefined; owed: string };

export function Strays({ strays, owed }: StraysProps) {
  const { intent, chains, facts, sayAmount } = useAbout();
  const { say, language } = useSpeech();
  if (!strays || strays.length === 0) return null;
  const coin = facts.walletChain?.coin ?? knownChains[intent.chainId]?.coin ?? say("nativeCoin");
  const held = strays.map(({ token, amount }) => {
    if (token === nativeCoin) return `${formatUnits(amount, coinDecimals)} ${coin}`;
    return sayAmount(amount, findToken(intent, chains, token));
  });
  return (
    <div className="ask-all">
      <Notice
        tone="warn"
        title={say("wrongArrived", { held: held.join(", "), amount: sayAmount(owed) })}
      >
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
