// Notices about money that was not requested: other tokens, similar tokens, and money on other
// chains.

import type { Elsewhere, ServiceStatus, TokenAmount } from "executable-address/status";
import {
  findWrongTokens,
  isOver,
  type Standing,
  shortAddress,
  type WrongTokenNews,
} from "executable-address-element/page";
import { useAbout } from "../shown/about.tsx";
import { ShortParty } from "../shown/address-text.tsx";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment } from "../shown/words/say-when.ts";
import { Notice } from "../ui/notice.tsx";

type MisdirectedProps = { standing: Standing; status: ServiceStatus | undefined };

export function Misdirected({ standing, status }: MisdirectedProps) {
  const { owed } = standing;
  return (
    <>
      {!isOver(standing) && owed !== "0" && <Strays strays={status?.strays} owed={owed} />}
      <WrongTokens found={findWrongTokens(status, standing)} />
      <OtherChains found={status?.elsewhere ?? []} />
    </>
  );
}

type StraysProps = { strays: readonly TokenAmount[] | null | undefined; owed: string };

/** Warns that the address has received tokens or native coin that were not requested. */
function Strays({ strays, owed }: StraysProps) {
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

/** Shows similar tokens that arrived instead of the requested token, and where this money goes. */
function WrongTokens({ found }: { found: readonly WrongTokenNews[] }) {
  const { intent, token: requested } = useAbout();
  const { say, language } = useSpeech();
  return found.map(({ token, name, held, fate }) => (
    <div className="ask-all" key={token}>
      <Notice
        tone="warn"
        title={say("wrongToken", {
          name,
          requested: requested?.symbol ?? shortAddress(intent.token),
        })}
      >
        <p>
          <Said
            as={fate}
            held={held}
            date={sayMoment(intent.expirationTimestamp, language)}
            address={<ShortParty address={intent.recovery} />}
          />
        </p>
      </Notice>
    </div>
  ));
}

/** Shows money that arrived at the address on other chains, and whether it was returned. */
function OtherChains({ found }: { found: readonly Elsewhere[] }) {
  const { intent, chains, chainName, sayHeld } = useAbout();
  const { say } = useSpeech();
  return found.map((each) => {
    const { chainId, token, state, transactionHash } = each;
    const there = chains.find((listed) => listed.chainId === chainId);
    const held = sayHeld(each);
    const chain = there?.name ?? say("chainNumber", { id: chainId });
    return (
      <div className="ask-all" key={`${chainId} ${token} ${state} ${transactionHash}`}>
        <Notice tone="warn" title={say("elsewhereTitle", { held, chain })}>
          <p>
            <Said
              as={state === "held" ? "elsewhereHeld" : "elsewhereReturned"}
              own={chainName}
              chain={chain}
              address={<ShortParty address={intent.recovery} />}
            />
          </p>
        </Notice>
      </div>
    );
  });
}
