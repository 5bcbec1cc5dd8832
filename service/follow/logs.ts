// Requests token transfers in a range of blocks from one endpoint.
//
// The query has two forms. One form requests all transfers of the listed tokens. The other form
// requests only transfers to this service's addresses (the recipients). A busy chain has hundreds
// of token transfers in each block. So the query with recipients uses less bandwidth if there are
// few addresses. The cheaper query is sent first. If the endpoint refuses the cheaper query, the
// other query is sent. A single block can also be read from its receipts or with one query per
// token.
//
// A query that filters by recipient does not return payments to an address that was created after
// the recipients were listed. The service still finds such a payment. A sweep first reads the
// newest block, and then lists the addresses of all records. So a missing address belongs to a
// record that was created later. The service reads the balance of this address at the sweep's
// newest block or later. The balance includes the payments that the query omitted.
//
// The query also includes look-alikes: tokens that imitate a listed token. If an endpoint accepts
// the query only without look-alikes, the next queries to it omit them. So a flood of look-alike
// transfers does not delay payments.

import type { Hex } from "executable-address";
import { topicOf, toQuantity, transferOf, transferTopic } from "executable-address/status";
import {
  type EndpointRecord,
  recordLogsByTokens,
  recordLookalikesRefused,
} from "../chain/rpc/endpoint-record.ts";
import {
  type Answer,
  blockCall,
  blockOf,
  type Call,
  type CallError,
  ChainUnavailable,
  hexData,
  parseBlock,
  parseLog,
  quantity,
  resultOf,
  unlike,
} from "../chain/rpc/json-rpc.ts";
import { classifyError, statedLogRange } from "../chain/rpc/node-errors.ts";
import type { EndpointClient } from "../chain/rpc/view.ts";
import type { FollowMemory, SweepContext } from "./context.ts";
import type { Anchor, Payment, Range } from "./payment.ts";

/**
 * `shown`: the endpoint returned the logs. `end` is the last block of the range. If `isHeavy` is
 * true, the endpoint refused the usual query for a single block. The logs are from one query per
 * token, or from the block's receipts.
 *
 * `refused`: the endpoint answers other calls, but not this query. `isSlow` means that the endpoint
 * did not answer in time. `isLimited` means that the endpoint reported a rate limit. `statedBlocks`
 * is the maximum number of blocks per query according to the endpoint's error message.
 *
 * `absent`: the endpoint is unreachable or does not have the blocks.
 */
export type LogsAnswer =
  | { kind: "shown"; end: Anchor; transfers: Payment[]; isHeavy: boolean }
  | RefusedLogs
  | { kind: "absent" };

type RefusedLogs = {
  kind: "refused";
  message: string;
  isSlow: boolean;
  isLimited: boolean;
  statedBlocks?: number | undefined;
};

const absent: LogsAnswer = { kind: "absent" };
const unanswered = "the endpoint did not answer the query for logs in time";

/**
 * Reads the transfers in a range of blocks, including look-alikes. If the endpoint refuses a query
 * for all tokens, uses a separate query for the look-alikes. If the endpoint refuses only the query
 * for the look-alikes, the next sweeps omit the look-alikes.
 */
export async function readLogs(
  client: EndpointClient,
  context: SweepContext,
  range: Range,
): Promise<LogsAnswer> {
  const { memory } = context;
  const { wanted, lookalikes } = tokensOf(context);
  const tokens = chooseTokens(client, context);
  const answer = await readTokens(client, context, range, tokens);
  const isRefused = answer.kind === "refused" && !answer.isLimited;
  if (!isRefused || tokens.length === wanted.length) return answer;
  const listed = await readTokens(client, context, range, wanted);
  if (listed.kind !== "shown") return listed;
  const others = await readTokens(client, context, range, lookalikes);
  if (others.kind === "shown" && others.end.hash === listed.end.hash) {
    return { ...listed, transfers: [...listed.transfers, ...others.transfers] };
  }
  if (others.kind === "refused") recordLookalikesRefused(client.record, memory.sweepNumber);
  return listed;
}

/** Returns the tokens whose logs this sweep requests from the endpoint. */
function chooseTokens(
  { record }: EndpointClient,
  context: Pick<SweepContext, "chain" | "memory">,
): readonly Hex[] {
  const { wanted, lookalikes } = tokensOf(context);
  const isResting = context.memory.sweepNumber < record.logs.lookalikesFromSweep;
  return isResting ? wanted : [...wanted, ...lookalikes];
}

/**
 * `wanted` contains the listed tokens and the requested tokens of open addresses. `lookalikes`
 * contains all other look-alikes.
 */
function tokensOf({ chain, memory }: Pick<SweepContext, "chain" | "memory">) {
  const { tokens } = memory.delisted;
  return {
    wanted: tokens.length === 0 ? chain.tokens : [...chain.tokens, ...tokens],
    lookalikes: [...chain.lookalikes.keys()].filter((token) => !tokens.includes(token)),
  };
}

/**
 * Sends the cheaper form of the query. If the endpoint refuses that form, sends the other form. If
 * the endpoint accepts only the form without recipients, later queries to the endpoint use only
 * this form.
 */
async function readTokens(
  client: EndpointClient,
  context: SweepContext,
  range: Range,
  tokens: readonly Hex[],
): Promise<LogsAnswer> {
  const { memory } = context;
  let refusal: { form: Form; answer: LogsAnswer } | undefined;
  for (const form of formsFor(context, client.record, range)) {
    const answer = await readInForm(form, client, context, range, tokens);
    if (answer.kind === "absent") return answer;
    if (answer.kind === "shown") {
      if (refusal?.form) recordLogsByTokens(client.record);
      return answer;
    }
    if (!answer.isLimited) noteLogs(memory, form, range, undefined);
    if (answer.isSlow) return answer;
    refusal ??= { form, answer };
    if (answer.isLimited) break;
  }
  const { answer } = refusal!;
  return range.from === range.to ? readBlock(client, context, range.from, tokens, answer) : answer;
}

/**
 * Requests the transfers in a range, either to the recipients in `form` or to all recipients. An
 * endpoint that is behind returns no logs for blocks that it does not have. So the last block's
 * hash is requested before and after the logs. Both hashes must be equal. The hash of the chain's
 * newest block is not requested if the endpoint has already reached this block. The logs of this
 * block are read again later.
 */
function readInForm(
  form: Form,
  client: EndpointClient,
  context: SweepContext,
  range: Range,
  tokens: readonly Hex[],
): Promise<LogsAnswer> {
  const { head } = context.view;
  const { to } = range;
  const isHead = to === head.number;
  const logs = logsCall(range, tokens, form);
  const isShown = isHead && client.hasHead;
  const calls = isShown ? [logs] : [blockCall(to), logs, blockCall(to)];
  return query(client, calls, (answers) => {
    const list = answers.splice(isShown ? 0 : 1, 1)[0];
    const hashes = new Set(answers.map((answer) => parseBlock(answer).hash));
    const [hash = head.hash] = hashes;
    if (hashes.size > 1 || (isHead && hash !== head.hash)) return absent;
    if (!list || "error" in list) {
      return refusalOf(list?.error ?? { code: 0, message: "" }, range);
    }
    const { count, transfers } = transfersIn(list.result, context, range);
    noteLogs(context.memory, form, range, count);
    return { kind: "shown", end: { number: to, hash }, transfers, isHeavy: false };
  });
}

function refusalOf(error: CallError, { from, to }: Range): LogsAnswer {
  return {
    kind: "refused",
    message: error.message,
    isSlow: false,
    isLimited: classifyError("eth_getLogs", error) === "rate_limited",
    statedBlocks: statedLogRange(error, to - from + 1),
  };
}

/**
 * Requests the transfers after `anchor` from a quorum of endpoints, with one query each. Returns
 * every transfer that at least one of these endpoints returns. Also checks with the first endpoint
 * that the anchor's block is still in the chain.
 *
 * @returns undefined if the anchor is no longer in the chain, or if a query fails
 */
export async function transfersSince(
  { view, chain, ...of }: Pick<SweepContext, "view" | "chain" | "memory" | "tuning">,
  anchor: Anchor,
  nth: number,
): Promise<Payment[] | undefined> {
  const range = { from: anchor.number + 1, to: Number.POSITIVE_INFINITY };
  const [first, ...others] = view.clients(nth).slice(0, view.quorum);
  const writeCall = (client: EndpointClient) => {
    const tokens = chooseTokens(client, { chain, memory: of.memory });
    return logsCall(range, tokens, formsFor(of, client.record, range)[0]);
  };
  const answers = await Promise.all([
    first!.ask([writeCall(first!), blockCall(anchor.number)]),
    ...others.map((client) => client.ask([writeCall(client)])),
  ]);
  try {
    const methods = ["eth_getLogs", "eth_getBlockByNumber"];
    const all = answers.map((answer) =>
      Array.isArray(answer) ? answer.map((each, index) => resultOf(each, methods[index]!)) : [],
    );
    if (blockOf(all[0]![1]).hash !== anchor.hash) return undefined;
    return all.flatMap(
      ([logs]) => transfersIn(logs, { chain, memory: of.memory }, range).transfers,
    );
  } catch {
    return undefined;
  }
}

/**
 * Reads the transfers of one block after the endpoint has refused the usual query. Sends one query
 * per token. If the endpoint refuses these queries too, reads the block's receipts.
 */
async function readBlock(
  client: EndpointClient,
  context: SweepContext,
  number: number,
  tokens: readonly Hex[],
  refusal: LogsAnswer,
): Promise<LogsAnswer> {
  const range = { from: number, to: number };
  const receipts = { method: "eth_getBlockReceipts", params: [toQuantity(number)] };
  const ways: Call[][] = [[receipts]];
  if (tokens.length > 1) ways.unshift(tokens.map((token) => logsCall(range, [token])));
  for (const calls of ways) {
    const answer = await query(client, [...calls, blockCall(number)], (answers) => {
      const block = parseBlock(answers.pop());
      const found = answers.flatMap((answer) => logsIn(resultOf(answer, calls[0]!.method)));
      const { transfers } = transfersIn(found, context, range);
      if (transfers.some(({ blockHash }) => blockHash !== block.hash)) return absent;
      return { kind: "shown", end: { number, hash: block.hash }, transfers, isHeavy: true };
    });
    if (answer.kind === "shown" || (answer.kind === "refused" && answer.isSlow)) return answer;
  }
  return refusal;
}

/** Runs a query. Returns `absent` if the endpoint does not respond or does not have the block. */
async function query(
  client: EndpointClient,
  calls: Call[],
  read: (answers: Answer[]) => LogsAnswer,
): Promise<LogsAnswer> {
  const answers = await client.ask(calls);
  if (answers === "gone") return absent;
  if (answers === "slow") {
    return { kind: "refused", message: unanswered, isSlow: true, isLimited: false };
  }
  try {
    return read(answers);
  } catch (error) {
    if (error instanceof ChainUnavailable) return absent;
    throw error;
  }
}

const logsCall = ({ from, to }: Range, tokens: readonly Hex[], form?: Form): Call => ({
  method: "eth_getLogs",
  params: [
    {
      fromBlock: toQuantity(from),
      toBlock: Number.isFinite(to) ? toQuantity(to) : "latest",
      address: tokens,
      topics: form ? [transferTopic, null, form.map(topicOf)] : [transferTopic],
    },
  ],
});

/** Returns the logs in `result`, which is a list of logs or a list of receipts. */
function logsIn(result: unknown): unknown[] {
  if (!Array.isArray(result)) throw unlike("a list of logs", result);
  return result.flatMap((entry) => (Array.isArray(entry?.logs) ? entry.logs : [entry]));
}

/**
 * Returns the payments among `logs`, and the number of transfers. Logs that are not token transfers
 * are ignored. A small transfer of a look-alike token counts as a payment only if an open address
 * requests this token.
 */
function transfersIn(
  logs: unknown,
  { chain, memory }: Pick<SweepContext, "chain" | "memory">,
  { from, to }: Range,
) {
  if (!Array.isArray(logs)) throw unlike("a list of logs", logs);
  let count = 0;
  const transfers = (logs as Record<string, unknown>[]).flatMap((entry): Payment[] => {
    const log = parseLog(entry);
    const transfer = transferOf(log);
    const isLookalike = chain.lookalikes.has(log.address);
    const isWanted = [...chain.tokens, ...memory.delisted.tokens].includes(log.address);
    const least = isWanted ? 1n : chain.lookalikes.get(log.address);
    if (!transfer || least === undefined) return [];
    count++;
    const blockNumber = Number(quantity(entry.blockNumber));
    if (transfer.amount < least || blockNumber < from || blockNumber > to) return [];
    return [
      {
        address: transfer.to,
        blockNumber,
        blockHash: hexData(entry.blockHash),
        transactionHash: hexData(entry.transactionHash),
        logIndex: Number(quantity(entry.logIndex)),
        payer: transfer.from,
        token: log.address,
        amount: String(transfer.amount),
        isLookalike,
      },
    ];
  });
  return { count, transfers };
}

/** The recipients of a query, or undefined for a query for all transfers. */
type Form = readonly Hex[] | undefined;

/** Approximately how many bytes a recipient adds to a request, and a log to a response. */
const bytes = { recipient: 69, log: 630 };
/**
 * The estimate `logsPerBlock` assumes that a refused range contains this number of logs. Many
 * providers return at most 10,000 logs per query.
 */
const refusedLogs = 10_000;
/**
 * Only a query that does not filter by recipient counts all transfers and updates the estimate
 * `logsPerBlock`. While the estimate is too high, all queries filter by recipient. After each such
 * query, the estimate is multiplied by this factor. Eventually, a query without the filter is sent
 * again.
 */
const logsPerBlockDecay = 0.995;

/**
 * Adds the addresses of new records to the list of recipients. Stops when the list has one address
 * more than a query can contain.
 */
export async function noteRecipients({ store, tuning, memory }: ListOf): Promise<void> {
  const { recipients } = memory;
  const room = tuning.recipientsMax + 1 - recipients.list.length;
  if (tuning.recipientsMax === 0 || room === 0) return;
  for (const { seq, address } of await store.findCreated(recipients.seq, room)) {
    recipients.seq = seq;
    recipients.list.push(address);
  }
}

/** The maximum number of unlisted tokens in a query. The limit keeps queries short. */
const delistedMax = 32;

/**
 * Finds the unlisted tokens that are requested by open addresses. A token also counts as unlisted
 * if the operator lists it only as a look-alike. The first call in a process reads all records.
 * Later calls read only new records.
 */
export async function noteDelisted({ chain, store, memory }: SweepContext): Promise<void> {
  const { delisted } = memory;
  for (let isEnd = false; !isEnd; ) {
    const found = await store.findRequestedTokens(delisted.seq);
    for (const token of found.tokens) {
      const isKnown = chain.tokens.includes(token) || delisted.tokens.includes(token);
      if (!isKnown && delisted.tokens.length < delistedMax) delisted.tokens.push(token);
    }
    delisted.seq = found.seq;
    isEnd = found.isEnd;
  }
}

type ListOf = {
  store: Pick<SweepContext["store"], "findCreated">;
  tuning: Pick<SweepContext["tuning"], "recipientsMax">;
  memory: FollowMemory;
};

/** Returns the forms of the query that an endpoint may accept. The cheaper form comes first. */
function formsFor(
  { memory, tuning }: Omit<ListOf, "store">,
  { logs }: Pick<EndpointRecord, "logs">,
  range: Range,
): Form[] {
  const { list } = memory.recipients;
  const isFew = list.length > 0 && list.length <= tuning.recipientsMax;
  if (!isFew || logs.isByTokens) return [undefined];
  const answered = memory.logsPerBlock * blocksOf(range) * bytes.log;
  return list.length * bytes.recipient < answered ? [list, undefined] : [undefined, list];
}

/** @param logs the number of returned logs; undefined if the endpoint refused the query */
function noteLogs(memory: FollowMemory, form: Form, range: Range, logs: number | undefined) {
  if (form) memory.logsPerBlock *= logsPerBlockDecay;
  else memory.logsPerBlock = (logs ?? refusedLogs) / blocksOf(range);
}

const blocksOf = ({ from, to }: Range) => to - from + 1;
