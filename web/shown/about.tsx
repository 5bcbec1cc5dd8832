// The data about the page's address, for all components that show it.

import type { AddressRecord, Intent } from "executable-address";
import type { TokenAmount } from "executable-address/status";
import {
  type Chain,
  coinDecimals,
  coins,
  isSame,
  type Token,
} from "executable-address-element/page";
import { createContext, useContext } from "react";
import type { Facts } from "./facts.ts";
import { findToken, sayAmount, sayParty } from "./reading.ts";
import { nativeCoin } from "./simulation.ts";
import { useSpeech } from "./words/say.tsx";

/** The page's verified record, and unverified data from the server. */
export type About = {
  readonly record: AddressRecord;
  readonly chains: readonly Chain[];
  readonly facts: Facts;
};

export const AboutContext = createContext<About | undefined>(undefined);

/** Returns the page's data and functions that format it. */
export function useAbout() {
  const about = useContext(AboutContext)!;
  const { say } = useSpeech();
  const { record, chains, facts } = about;
  const { intent } = record;
  const chain = chains.find(({ chainId }) => chainId === intent.chainId);
  const token = findToken(intent, chains, intent.token);
  const coinOf = (chainId: number): Token => ({
    symbol:
      (chainId === intent.chainId && facts.walletChain?.coin) ||
      (coins[chainId] ?? say("nativeCoin")),
    address: nativeCoin,
    decimals: coinDecimals,
  });
  const coin = coinOf(intent.chainId);
  return {
    ...about,
    intent: intent as Intent,
    token,
    coin,
    chainName: chain?.name ?? say("chainNumber", { id: intent.chainId }),
    /** Formats an amount of a token. The default token is the intent's token. */
    sayAmount: (amount: string, of: Token | undefined = token) => sayAmount(amount, of, say),
    /**
     * Formats a token amount from a status. The default chain is the intent's chain. For an
     * unlisted token, the text includes the token's address.
     */
    sayHeld: ({ token, amount, chainId }: TokenAmount & { chainId?: number }) => {
      const place = { ...intent, chainId: chainId ?? intent.chainId };
      const known = isSame(token, nativeCoin)
        ? coinOf(place.chainId)
        : findToken(place, chains, token);
      const said = sayAmount(amount, known, say);
      return known ? said : `${said} ${say("ofToken", { address: token })}`;
    },
    /** Formats an amount in wei of the native coin. */
    sayCoin: (wei: string) => sayAmount(wei, coin, say),
    sayParty: (address: string) => sayParty(address, record, facts.labels, say),
  };
}
