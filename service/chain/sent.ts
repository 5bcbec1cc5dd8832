// Finds the tokens that a payer sent to an address by mistake. Reads the transfers of a transaction
// and the balances of the address. Also simulates a recovery, to find out whether it would move the
// tokens. A token can be any contract. So each call has a gas limit, and only measured balances
// count. The reader calls a quorum of endpoints. If their answers differ, the most cautious answer
// counts, for example the lowest balance.

import { encodeTransfer, type Hex, recoverCalldata, toHex, zeroAddress } from "executable-address";
import { isName, symbolMax } from "executable-address/payment";
import {
  isOpenAt,
  isSame,
  type StatusSubject,
  toQuantity,
  transferOf,
} from "executable-address/status";
import { decodeAbiParameters, parseAbiParameters } from "viem/utils";
import { min } from "../flow/numbers.ts";
import { sleepUnref } from "../flow/wait.ts";
import { computeReturnGas, transactionGasMin, transferGasMax } from "./gas-limits.ts";
import { type AtBlock, encodeViewCall } from "./rpc/chain-rpc.ts";
import type { Endpoint } from "./rpc/endpoint.ts";
import { type Answer, type Call, parseLog, quantity } from "./rpc/json-rpc.ts";
import { openNetwork } from "./rpc/network.ts";
import type { View } from "./rpc/view.ts";
import { measureReturn, type ReturnOutcome } from "./simulation/meter.ts";
import { readHoldings, type VaultToken } from "./status/probe.ts";

/**
 * Unlisted tokens that were found at an address. The tokens' balances were read at `block`. The
 * executor sends the tokens back at `notBefore` (Unix seconds, the chain's clock) or later.
 */
export type TokenReport = {
  chainId: number;
  address: Hex;
  tokens: readonly Hex[];
  block: { number: number; timestamp: number };
  notBefore: number;
};

/**
 * - `failed`: an earlier attempt to send the token back moved nothing
 * - `over_limit`: the address has too many queued tokens, or its account reached its daily limit
 * - `left_to_owner`: this service does not return the token
 */
export type ReportedFate = "queued" | "failed" | "over_limit" | "left_to_owner";

type SentProblem = "unknown_transaction" | "failed_transaction" | "pays_nothing_here";

/**
 * A token at the address. `symbol` and `decimals` come from the token's contract, so they can be
 * wrong.
 */
export type FoundToken = {
  token: Hex;
  amount: bigint;
  symbol: string | null;
  decimals: number | null;
  outcome: ReturnOutcome;
};

type FoundMoney = {
  block: View["head"];
  /**
   * Whether the intent's calls can still run. No money can be sent back while the calls can run.
   */
  isOpen: boolean;
  problem: SentProblem | null;
  tokens: FoundToken[];
  omitted: number;
};

export type SentReader = (
  subject: StatusSubject,
  terms: Hex,
  query: { token: Hex } | { transactionHash: Hex },
) => Promise<FoundMoney>;

/** The maximum number of tokens per transaction. */
export const tokensPerTransactionMax = 4;
/**
 * The gas limit of `symbol()` and `decimals()`, including a transaction's base cost. A proxied
 * token needs 40,000 gas to return its symbol.
 */
const claimGas = 80_000;

/** @throws {ChainUnavailable} if no endpoint answers */
export function openSentReader(chainId: number, factory: Hex, endpoints: Endpoint[]): SentReader {
  const network = openNetwork(chainId, endpoints, () => {}, {
    clock: () => performance.now(),
    sleep: sleepUnref,
  });
  let turn = 0;
  return async (subject, terms, query) => {
    const { address, intent } = subject;
    const view = await network.openView();
    const block = view.head;
    const several = (calls: Call[]) => view.readSeveral(calls, turn++, () => true);
    const found =
      "token" in query
        ? { problem: null, tokens: [query.token], omitted: 0 }
        : readTransfers(await several(receiptCalls(query.transactionHash)), address);
    const at = atView(chainId, view, turn++);
    // The read of the intent's token is always needed. This read also returns whether the address
    // has code.
    const pairs = [intent.token, ...found.tokens].map((token) => ({ vault: address, token }));
    const balances = await readLeast(at, pairs);
    const { timestamp } = block;
    const isOpen = isOpenAt(intent, { chainId, timestamp }, balances.hasCode);
    const tokens = await Promise.all(
      found.tokens.map(async (token, index): Promise<FoundToken> => {
        const amount = balances.amounts[index + 1]!;
        const claims = readClaims(await several(claimCalls(token, view.at)));
        const moved = { vault: address, recovery: intent.recovery, token };
        const measure = () => {
          if (isOpen) return tryTransfer(at, { ...moved, amount });
          const data = toHex(recoverCalldata(terms, [token]));
          const paid = { from: intent.recovery, gasMax: computeReturnGas(terms) };
          return measureReturn(at, { factory, ...moved, data, ...paid });
        };
        return { token, amount, ...claims, outcome: amount > 0n ? await measure() : "stays" };
      }),
    );
    return { block, isOpen, ...found, tokens };
  };
}

const atView = (chainId: number, view: View, turn: number): AtBlock => ({
  chainId,
  timestamp: view.head.timestamp,
  ask: (questions, isUsable) =>
    view.readSeveral(
      questions.map((question) => question(view.at)),
      turn,
      isUsable,
    ),
});

/** Returns the lowest reported balances, and whether any endpoint reports code at the address. */
async function readLeast(at: AtBlock, pairs: readonly VaultToken[]) {
  const lists = await readHoldings(at, pairs);
  const amounts = pairs.map(({ token }, index) =>
    lists
      .map((list) => (token === zeroAddress ? list[index]!.native : (list[index]!.balance ?? 0n)))
      .reduce(min),
  );
  return { amounts, hasCode: lists.some(([first]) => first!.codeBytes > 0) };
}

const receiptCalls = (hash: Hex): Call[] =>
  ["eth_getTransactionReceipt", "eth_getTransactionByHash"].map((method) => ({
    method,
    params: [hash],
  }));

type Transfers = { problem: SentProblem | null; tokens: Hex[]; omitted: number };

/**
 * Returns the tokens that the transaction transferred to the address, according to every endpoint.
 */
function readTransfers(lists: readonly Answer[][], address: Hex): Transfers {
  const nothing = (problem: SentProblem) => ({ problem, tokens: [], omitted: 0 });
  const shown: Hex[][] = [];
  for (const [receipt, transaction] of lists) {
    const found = parseTransfers(receipt, transaction, address);
    if (typeof found === "string") return nothing(found);
    shown.push(found);
  }
  const [first = [], ...others] = shown;
  const agreed = first.filter((token) => others.every((tokens) => tokens.includes(token)));
  if (agreed.length === 0) return nothing("pays_nothing_here");
  const tokens = agreed.slice(0, tokensPerTransactionMax);
  return { problem: null, tokens, omitted: agreed.length - tokens.length };
}

/**
 * Returns the tokens that reached `address`, in lowercase and without duplicates. The zero address
 * means native coin.
 */
function parseTransfers(
  receipt: Answer | undefined,
  transaction: Answer | undefined,
  address: Hex,
): Hex[] | SentProblem {
  const [mined, sent] = [findObject(receipt), findObject(transaction)];
  if (!mined) return "unknown_transaction";
  try {
    const { status, logs } = mined;
    if (quantity(status) !== 1n) return "failed_transaction";
    if (!Array.isArray(logs) || !sent) return "unknown_transaction";
    const { to, value } = sent;
    const isPaid = typeof to === "string" && isSame(to as Hex, address) && quantity(value) > 0n;
    const tokens = logs.map(parseLog).flatMap((log) => {
      const transfer = transferOf(log);
      return transfer && isSame(transfer.to, address) && transfer.amount > 0n ? [log.address] : [];
    });
    return [...new Set([...(isPaid ? [zeroAddress] : []), ...tokens])];
  } catch {
    return "unknown_transaction";
  }
}

/** Returns undefined if the node does not have the object. */
function findObject(answer: Answer | undefined): Record<string, unknown> | undefined {
  if (!answer || "error" in answer || !answer.result) return undefined;
  return answer.result as Record<string, unknown>;
}

function claimCalls(token: Hex, at: unknown): Call[] {
  return ["symbol()", "decimals()"].map((text) => {
    const call = { ...encodeViewCall(token, text), gas: toQuantity(claimGas) };
    return { method: "eth_call", params: [call, at] };
  });
}

/** Returns the symbols and decimals on which all endpoints agree. */
function readClaims(lists: readonly Answer[][]): {
  symbol: string | null;
  decimals: number | null;
} {
  const agreed = (place: number) => {
    const texts = lists.map((list) => {
      const answer = list[place];
      return answer && "result" in answer ? String(answer.result) : "0x";
    });
    return texts.every((each) => each === texts[0]) ? (texts[0] as Hex) : "0x";
  };
  return { symbol: decodeSymbol(agreed(0)), decimals: decodeDecimals(agreed(1)) };
}

/** Decodes a symbol. Some old tokens return 32 bytes instead of a string. */
function decodeSymbol(data: Hex): string | null {
  try {
    const [text] =
      data.length === 66
        ? [Buffer.from(data.slice(2), "hex").toString("utf8").replace(/\0+$/, "")]
        : decodeAbiParameters(parseAbiParameters("string"), data);
    return isName(text, symbolMax) ? text : null;
  } catch {
    return null;
  }
}

function decodeDecimals(data: Hex): number | null {
  if (data.length !== 66) return null;
  const decimals = BigInt(data);
  return decimals <= 255n ? Number(decimals) : null;
}

/**
 * Simulates a plain transfer from an address that is still open. A simulated recovery of an open
 * address would revert. The contract allows recoveries only after an execution or after the
 * expiration time.
 */
async function tryTransfer(
  { ask }: AtBlock,
  { vault, recovery, token, amount }: { vault: Hex; recovery: Hex; token: Hex; amount: bigint },
): Promise<ReturnOutcome> {
  if (token === zeroAddress) return "moves";
  const data = encodeTransfer(recovery, amount);
  const gas = transactionGasMin + transferGasMax;
  const call = { from: vault, to: token, data, gas: toQuantity(gas) };
  const lists = await ask([(at) => ({ method: "eth_call", params: [call, at] })], () => true);
  const isDone = ([answer]: Answer[]) =>
    answer !== undefined && "result" in answer && /^0x(0{63}1.*)?$/.test(String(answer.result));
  return lists.every(isDone) ? "moves" : "stays";
}
