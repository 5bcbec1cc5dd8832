// Classifies the errors of nodes. Also finds the number of blocks that a node allows per log query.
// Few error codes mean the same in all node software, so most rules match error messages. Messages
// can include a revert reason, and a contract can choose any reason. So these rules apply only to
// errors that are not reverts.

import { invalidParameters } from "executable-address/status";
import { type CallError, isRevert } from "./json-rpc.ts";

export type ErrorKind =
  /** The call ran and reverted. */
  | "reverted"
  /** The provider demands fewer calls per second. */
  | "rate_limited"
  /** The node has a problem, or does not have the block yet. The same call may succeed later. */
  | "transient"
  /** The log query covers too many blocks, or its result is too large. */
  | "log_range"
  /** The node does not support this method or these parameters. */
  | "no_method"
  | "invalid_parameters"
  /** The call needs more gas than its limit, or than the node allows for a simulation. */
  | "over_call_gas"
  /** The sender cannot pay for the gas or the value. */
  | "no_funds"
  /** The transaction's gas limit is higher than a block's. */
  | "over_block_gas"
  /** The node already has this transaction. */
  | "already_known"
  /** A mined transaction has already used the nonce. */
  | "nonce_used"
  /** The fee is too low to replace the pending transaction with this nonce. */
  | "replacement_underpriced"
  /** The gas price is below the node's minimum or the base fee. */
  | "fee_too_low"
  | "other";

/**
 * A rule: an error has the kind `kind` if its code is `code` or its message matches `text`.
 * `source` is the software or provider that returns such errors. If several rules match, the first
 * one decides.
 */
type Row = { source: string; kind: ErrorKind; code?: number; text?: RegExp };

const send = "eth_sendRawTransaction";

/** Rules for errors of eth_sendRawTransaction, from the node clients' lists of errors. */
const rowsOfSends: readonly Row[] = [
  { source: "geth, erigon, reth", kind: "already_known", text: /already known|known transaction/i },
  { source: "OpenEthereum, anvil", kind: "already_known", text: /already (been )?imported/i },
  { source: "Nethermind, Substrate", kind: "already_known", text: /AlreadyKnown|AlreadyImported/ },
  {
    source: "relays",
    kind: "already_known",
    text: /transaction already exists|already in (the )?mempool/i,
  },
  { source: "geth, Besu, hardhat", kind: "nonce_used", text: /nonce (is )?too low/i },
  { source: "Nethermind, Substrate", kind: "nonce_used", text: /\bOldNonce\b|Pool\(Stale\)/ },
  { source: "relays", kind: "nonce_used", text: /nonce has already been used|already finalized/i },
  {
    source: "geth, Besu, hardhat",
    kind: "replacement_underpriced",
    text: /replacement (transaction|fee|gas price)|fee too low to replace/i,
  },
  { source: "erigon", kind: "replacement_underpriced", text: /could not replace/i },
  {
    source: "OpenEthereum, Klaytn",
    kind: "replacement_underpriced",
    text: /another (transaction|tx).* same nonce/i,
  },
  {
    source: "Nethermind",
    kind: "replacement_underpriced",
    text: /\b(OwnNonceAlreadyUsed|ReplacementNotAllowed)\b/,
  },
  {
    source: "geth, erigon, Arbitrum",
    kind: "fee_too_low",
    text: /underpriced|less than block base fee|gas price too low/i,
  },
  { source: "Nethermind", kind: "fee_too_low", text: /\bFeeTooLow(ToCompete)?\b/ },
  {
    source: "Besu, OpenEthereum, Celo",
    kind: "fee_too_low",
    text: /gas ?price (is )?(below|less than|too low)|minimum gas price|minimum floor/i,
  },
  {
    source: "geth, erigon, Besu, hardhat",
    kind: "over_block_gas",
    text: /exceeds (the )?(block|transaction|max\S*) ?gas|exceeds block/i,
  },
  {
    source: "geth (EIP-7825), anvil",
    kind: "over_block_gas",
    text: /gas (limit )?(is )?too high/i,
  },
  {
    source: "OpenEthereum",
    kind: "over_block_gas",
    text: /cost exceeds current gas limit|gas is beyond limit/i,
  },
  {
    source: "Nethermind",
    kind: "over_block_gas",
    text: /\b(GasLimitExceeded|TxGasLimitCapExceeded)\b/,
  },
  {
    source: "reth, anvil",
    kind: "over_block_gas",
    text: /gas limit.* (exceeds|greater than) .*cap/i,
  },
];

/** Rules for errors of eth_getLogs. */
const rowsOfLogs: readonly Row[] = [
  {
    source: "Infura, Alchemy, QuickNode, erigon",
    kind: "log_range",
    text: /\brange\b|more than \d+ |response size|too many (logs|results)|max results/i,
  },
  { source: "dRPC, Avalanche", kind: "log_range", text: /\branges over \d|too many blocks/i },
];

/**
 * Rules that apply to an error of eth_getLogs if no other rule matches. Infura returns code -32005
 * if a log query is too large, and also if the daily limit is reached. An earlier rule matches the
 * message about the daily limit.
 */
const rowsOfOtherLogs: readonly Row[] = [{ source: "Infura", kind: "log_range", code: -32005 }];

const rowsOfAll: readonly Row[] = [
  { source: "any", kind: "rate_limited", code: 429 },
  { source: "Base, Cloudflare", kind: "rate_limited", code: -32016 },
  {
    source: "Infura, Ankr, dRPC",
    kind: "rate_limited",
    text: /too many requests|rate.?limit|throttl|request count exceeded/i,
  },
  {
    source: "Alchemy, QuickNode, Chainstack",
    kind: "rate_limited",
    text: /(requests?|calls?|units?)( limit)? (reached|per second)|\/second request|RPS limit/i,
  },
  { source: "EIP-1474", kind: "no_method", code: -32601 },
  {
    source: "geth, Alchemy",
    kind: "no_method",
    text: /method .*(not (exist|available|found|supported)|unsupported)/i,
  },
  { source: "EIP-1474", kind: "invalid_parameters", code: invalidParameters },
  {
    source: "geth, Besu, anvil",
    kind: "invalid_parameters",
    text: /too many (arg|param)|invalid param|override/i,
  },
  {
    source: "geth, Arbitrum",
    kind: "no_funds",
    text: /insufficient (funds|balance)|not enough funds|InsufficientFunds|cause overdraft/i,
  },
  { source: "Besu", kind: "no_funds", text: /cost exceeds account balance/i },
  {
    source: "geth, Besu, Nethermind",
    kind: "over_call_gas",
    text: /gas required exceeds|exceeds (block )?gas|intrinsic gas/i,
  },
  {
    source: "geth, erigon behind a load balancer",
    kind: "transient",
    text: /(header|^block|block with such an ID) (is )?not found|header for hash/i,
  },
  {
    source: "gateways",
    kind: "transient",
    text: /internal (json-?rpc |server )?error|temporar|try again|overload|bad gateway/i,
  },
  { source: "gateways", kind: "transient", text: /service unavailable|no (available|healthy) / },
];

/** Classifies an error of `method`. Never throws. */
export function classifyError(method: string, error: CallError): ErrorKind {
  if (isRevert(error)) return "reverted";
  const rows = [
    ...(method === send ? rowsOfSends : []),
    ...(method === "eth_getLogs" ? rowsOfLogs : []),
    ...rowsOfAll,
    ...(method === "eth_getLogs" ? rowsOfOtherLogs : []),
  ];
  const row = rows.find(({ code, text }) => code === error.code || text?.test(error.message));
  if (row) return row.kind;
  // Gateways use this code for internal errors, with a short message or none.
  return error.code === -32603 && error.message.length < 40 ? "transient" : "other";
}

/** The maximum number of digits in a block count. Longer numbers are ignored. */
const digitsMax = 9;
/** Only this number of characters is searched, because a message can contain a whole request. */
const charactersMax = 500;

/**
 * A pattern for messages that state the maximum number of blocks. `source` names the providers and
 * nodes that send such messages. If several patterns match, the first one decides.
 */
type Stated = { source: string; text: RegExp };

/** Patterns for the first and the last block of a suggested range, both inclusive. */
const pairs: readonly Stated[] = [
  {
    source: "Alchemy, Infura, zkSync",
    text: /range[^[]{0,20}\[\s*0x([0-9a-f]{1,12})\s*,\s*0x([0-9a-f]{1,12})\s*\]/i,
  },
];

/** Patterns for a block count, such as 10000, 10,000, or 10K. */
const widths: readonly Stated[] = [
  { source: "Alchemy", text: /up to an? (?<number>[\d,]+k?) block range/i },
  {
    source: "QuickNode, Base, Monad",
    text: /limited to (?:an? |0 ?- ?)?(?<number>[\d,]+k?) (?:blocks? )?range/i,
  },
  { source: "dRPC", text: /ranges over (?<number>[\d,]+k?) blocks/i },
  {
    source: "reth, BNB Smart Chain, Ankr",
    text: /max(?:imum)? (?:block )?range(?: is)?:? (?<number>[\d,]+k?)/i,
  },
  { source: "Infura", text: /range [\d,]+ exceeds (?:the )?limit of (?<number>[\d,]+k?)/i },
  {
    source: "Avalanche, Frontier, Linea",
    text: /maximum (?:is set to |allowed is |is )?(?<number>[\d,]+k?)/i,
  },
  { source: "1RPC, Cloudflare", text: /max(?:imum)? is (?<number>[\d,]+k?) blocks/i },
  { source: "others", text: /limit (?:is |the query to at most )(?<number>[\d,]+k?)/i },
];

/** A number before one of these words is a limit of logs and not of blocks. */
const results = /\b(?:logs|results?|events)\b/i;

/**
 * Returns the number of blocks that a provider says it allows in one log query. Ignores numbers
 * that are equal to or greater than the refused range's length. Longer ranges are requested again
 * later (endpoint-record.ts). So a wrong number slows the scan, but no payment is missed.
 *
 * @param blocks the length of the refused range
 * @returns a number from 1 to `blocks` - 1, or undefined if the message contains no such number
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
