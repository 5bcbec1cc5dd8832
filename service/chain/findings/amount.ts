// Finds amounts that were probably written for other decimals. No chain is asked.

import type { Finding } from "executable-address/client";
import { formatUnits } from "viem/utils";
import type { Token } from "../chains.ts";

/** The decimals that tokens commonly have, and none: whole tokens. */
const usual = [18, 6, 8, 0];

const isOrdinary = (amount: bigint, decimals: number) =>
  amount >= 10n ** BigInt(Math.max(0, decimals - 2)) && amount < 10n ** BigInt(decimals + 7);

/** Too little to be worth a transfer of any listed token, of which bitcoin's are the dearest. */
const isDust = (amount: bigint, decimals: number) =>
  decimals >= 6 && amount < 10n ** BigInt(Math.max(3, decimals - 6));

const isHuge = (amount: bigint, decimals: number) => amount >= 10n ** BigInt(decimals + 10);

/** Between a hundredth and ten million tokens with other decimals, and far outside with its own. */
export function findWrongDecimals(amountText: string, token: Token): Finding[] {
  const { decimals, symbol } = token;
  const amount = BigInt(amountText);
  if (!isDust(amount, decimals) && !isHuge(amount, decimals)) return [];
  const meant = usual.find((each) => each !== decimals && isOrdinary(amount, each));
  if (meant === undefined) return [];
  const wanted = formatUnits(amount, meant);
  const scaled = amount * 10n ** BigInt(Math.max(0, decimals - meant));
  const right = scaled / 10n ** BigInt(Math.max(0, meant - decimals));
  return [
    {
      path: ["amount"],
      code: "amount_decimals",
      message: `this is ${formatUnits(amount, decimals)} ${symbol}, which has ${decimals} decimals`,
      cure: `for ${wanted} ${symbol} write ${right}`,
    },
  ];
}
