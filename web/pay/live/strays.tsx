// Money that arrived and is not what is asked for: another listed token, or the chain's coin. The
// service tells of it once the address is over; before, a wallet of this browser is asked.

import { type AddressRecord, encodeBalanceOf } from "executable-address";
import { ask, formatUnits, isSame, type Wallet } from "executable-address/page";
import { useEffect, useState } from "react";
import { Notice } from "../../ui/notice.tsx";
import { useAbout } from "../about.tsx";
import { ShortParty } from "../intent/address-text.tsx";
import type { Token } from "../intent/chains.ts";
import { knownChains } from "../wallet/known-chains.ts";
import { Said, useSpeech } from "../words/say.tsx";
import { sayMoment } from "./say-when.ts";

const pollMs = 5_000;
const coinDecimals = 18;

export function Strays({ wallets, owed }: { wallets: readonly Wallet[]; owed: string }) {
  const { record, intent, chains, facts, sayAmount } = useAbout();
  const { say, language } = useSpeech();
  const [held, setHeld] = useState<readonly string[]>([]);
  const tokens = chains.find(({ chainId }) => chainId === intent.chainId)?.tokens;
  const coin = facts.walletChain?.coin ?? knownChains[intent.chainId]?.coin ?? say("nativeCoin");
  useEffect(() => {
    const look = async () => {
      for (const wallet of wallets) {
        const found = await findStrays(wallet, record, tokens ?? [], coin).catch(() => undefined);
        if (found) return setHeld(found);
      }
    };
    void look();
    const timer = setInterval(look, pollMs);
    return () => clearInterval(timer);
  }, [wallets, record, tokens, coin]);

  if (held.length === 0) return null;
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

/** In words. Undefined where the wallet is on another chain. */
async function findStrays(
  { provider }: Wallet,
  { address, intent }: AddressRecord,
  tokens: readonly Token[],
  coin: string,
): Promise<string[] | undefined> {
  const chainId = await ask<string>(provider, "eth_chainId");
  if (Number(chainId) !== intent.chainId) return undefined;
  const wei = await ask<string>(provider, "eth_getBalance", [address, "latest"]);
  const found = [{ units: BigInt(wei), decimals: coinDecimals, symbol: coin }];
  const data = encodeBalanceOf(address);
  for (const { address: to, decimals, symbol } of tokens) {
    if (isSame(to, intent.token)) continue;
    const answer = await ask<string>(provider, "eth_call", [{ to, data }, "latest"]);
    const units = answer.length >= 66 ? BigInt(answer.slice(0, 66)) : 0n;
    found.push({ units, decimals, symbol });
  }
  return found
    .filter(({ units }) => units > 0n)
    .map(({ units, decimals, symbol }) => `${formatUnits(`${units}`, decimals)} ${symbol}`);
}
