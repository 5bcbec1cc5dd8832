// Reads the number of blocks that a provider allows in one log query from its error. The number is
// a hint for the next query, so a wrong one costs speed but never a payment: it is used only if it
// is smaller than the refused range, and longer queries are tried again later (endpoint-record.ts).

import type { CallError } from "./json-rpc.ts";

/** Numbers with more digits are not a range of blocks that a provider states. */
const digitsMax = 9;
/** Errors can quote a revert reason or a whole request, so only their beginning is searched. */
const charactersMax = 500;

/** @param said by the provider or client software; the first row that matches decides */
type Row = { said: string; text: RegExp };

/** A pair of blocks that the provider suggests, both inclusive. */
const pairs: readonly Row[] = [
  {
    said: "Alchemy, Infura, zkSync",
    text: /range[^[]{0,20}\[\s*0x([0-9a-f]{1,12})\s*,\s*0x([0-9a-f]{1,12})\s*\]/i,
  },
];

/** `number`: the allowed blocks, with thousands separators or a K. */
const widths: readonly Row[] = [
  { said: "Alchemy", text: /up to an? (?<number>[\d,]+k?) block range/i },
  {
    said: "QuickNode, Base, Monad",
    text: /limited to (?:an? |0 ?- ?)?(?<number>[\d,]+k?) (?:blocks? )?range/i,
  },
  { said: "dRPC", text: /ranges over (?<number>[\d,]+k?) blocks/i },
  {
    said: "reth, BNB Smart Chain, Ankr",
    text: /max(?:imum)? (?:block )?range(?: is)?:? (?<number>[\d,]+k?)/i,
  },
  { said: "Infura", text: /range [\d,]+ exceeds (?:the )?limit of (?<number>[\d,]+k?)/i },
  {
    said: "Avalanche, Frontier, Linea",
    text: /maximum (?:is set to |allowed is |is )?(?<number>[\d,]+k?)/i,
  },
  { said: "1RPC, Cloudflare", text: /max(?:imum)? is (?<number>[\d,]+k?) blocks/i },
  { said: "others", text: /limit (?:is |the query to at most )(?<number>[\d,]+k?)/i },
];

/** An error about the number of logs states no number of blocks. */
const results = /\b(?:logs|results?|events)\b/i;

/**
 * Returns how many blocks the provider says that it allows.
 *
 * @param blocks that it refused
 * @returns at least 1 and less than `blocks`; undefined if the error names no such number
 */
export function statedLogRange({ message }: CallError, blocks: number): number | undefined {
  const text = message.slice(0, charactersMax);
  const isUsable = (width: number) => Number.isSafeInteger(width) && width >= 1 && width < blocks;
  for (const { text: form } of pairs) {
    const [, from, to] = form.exec(text) ?? [];
    if (!from || !to) continue;
    const width = Number.parseInt(to, 16) - Number.parseInt(from, 16) + 1;
    if (isUsable(width)) return width;
  }
  for (const { text: form } of widths) {
    const found = form.exec(text);
    const digits = found?.groups?.number?.replaceAll(",", "");
    if (!found || !digits || digits.length > digitsMax) continue;
    if (results.test(text.slice(found.index + found[0].length).slice(0, 10))) continue;
    const width = Number.parseInt(digits, 10) * (/k$/i.test(digits) ? 1000 : 1);
    if (isUsable(width)) return width;
  }
  return undefined;
}
