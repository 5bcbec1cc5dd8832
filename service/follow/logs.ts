// Requests the transfers of listed tokens in a range of blocks from one endpoint.
//
// A query has one of two forms. The first form requests all transfers of the listed tokens. The
// second form requests only transfers to the service's addresses (the recipients). A busy chain has
// hundreds of transfers of a listed token in each block, so the second form costs fewer bytes if
// there are few addresses, and the first form if there are many. The endpoint gets the cheaper form
// first, and the other form if it refuses. A single block can also be read in other ways.
//
// Both forms find the same payments. The list of recipients is read after the head is known, and
// records are never deleted. So the list contains each address whose balance was checked in an
// earlier turn. If a record is created while logs are read, its balance is checked later, at this
// head or a higher one.
//
// The same query also requests look-alikes of the listed tokens. If an endpoint refuses this query,
// but answers the query without look-alikes, the look-alikes are omitted for a while. So a flood of
// transfers of a look-alike does not delay payments.

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
  parseLog,
  quantity,
  resultOf,
  unlike,
} from "../chain/rpc/json-rpc.ts";
import { classifyError, statedLogRange } from "../chain/rpc/node-errors.ts";
import type { EndpointClient } from "../chain/rpc/view.ts";
import type { Anchor, FollowMemory, Payment, Range, Turn } from "./parts.ts";

/**
 * `end`: the last block of the range. `isHeavy`: the endpoint refused the usual query, and returned
 * the single block in another way. `refused`: the endpoint answers other calls, but not this query.
 * `isSlow`: the endpoint did not answer the query in time. `isLimited`: the endpoint requires fewer
 * calls. `statedBlocks`: the number of blocks that the endpoint says it allows. `absent`: the
 * endpoint does not answer any call, or does not have the blocks.
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
const unanswered = "answers, but not this, or not in time";

/**
 * Reads the transfers of a range, including look-alikes. If the endpoint refuses a query for all
 * tokens, requests the listed tokens and the look-alikes in separate queries. If the endpoint
 * refuses only the look-alikes, later turns omit them for a while.
 */
export async function readLogs(
  client: EndpointClient,
  turn: Turn,
  range: Range,
): Promise<LogsAnswer> {
  const { memory } = turn;
  const { wanted, lookalikes } = tokensOf(turn);
  const tokens = chooseTokens(client, turn);
  const answer = await readTokens(client, turn, range, tokens);
  const isRefused = answer.kind === "refused" && !answer.isLimited;
  if (!isRefused || tokens.length === wanted.length) return answer;
  const listed = await readTokens(client, turn, range, wanted);
  if (listed.kind !== "shown") return listed;
  const others = await readTokens(client, turn, range, lookalikes);
  if (others.kind === "shown" && others.end.hash === listed.end.hash) {
    return { ...listed, transfers: [...listed.transfers, ...others.transfers] };
  }
  if (others.kind === "refused") recordLookalikesRefused(client.record, memory.turn);
  return listed;
}

/** Returns the tokens to request from the endpoint in this turn. */
function chooseTokens(
  { record }: EndpointClient,
  turn: Pick<Turn, "chain" | "memory">,
): readonly Hex[] {
  const { wanted, lookalikes } = tokensOf(turn);
  const isResting = turn.memory.turn < record.logs.lookalikesFromTurn;
  return isResting ? wanted : [...wanted, ...lookalikes];
}

/**
 * Returns two lists. `wanted`: the listed tokens, and the tokens that open addresses request.
 * `lookalikes`: the look-alikes that no open address requests.
 */
function tokensOf({ chain, memory }: Pick<Turn, "chain" | "memory">) {
  const { tokens } = memory.delisted;
  return {
    wanted: tokens.length === 0 ? chain.tokens : [...chain.tokens, ...tokens],
    lookalikes: [...chain.lookalikes.keys()].filter((token) => !tokens.includes(token)),
  };
}

/**
 * Requests transfers of `tokens` in the cheaper form, or in the other form if the endpoint refuses.
 * If an endpoint refuses a query with recipients and accepts one without, it gets no query with
 * recipients again.
 */
async function readTokens(
  client: EndpointClient,
  turn: Turn,
  range: Range,
  tokens: readonly Hex[],
): Promise<LogsAnswer> {
  const { memory } = turn;
  let refusal: { form: Form; answer: LogsAnswer } | undefined;
  for (const form of formsFor(turn, client.record, range)) {
    const answer = await readInForm(form, client, turn, range, tokens);
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
  return range.from === range.to ? readBlock(client, turn, range.from, tokens, answer) : answer;
}

/**
 * Requests the transfers of a range in one form. The hash of the range's last block must be the
 * same before and after the query, because an endpoint that is behind returns an empty list for
 * blocks that it does not have. The hash of the head is not requested from an endpoint that has
 * just shown the head, because later turns read this block again.
 */
function readInForm(
  form: Form,
  client: EndpointClient,
  turn: Turn,
  range: Range,
  tokens: readonly Hex[],
): Promise<LogsAnswer> {
  const { head } = turn.view;
  const { to } = range;
  const isHead = to === head.number;
  const logs = logsCall(range, tokens, form);
  const isShown = isHead && client.hasHead;
  const calls = isShown ? [logs] : [blockCall(to), logs, blockCall(to)];
  return query(client, calls, (answers) => {
    const list = answers.splice(isShown ? 0 : 1, 1)[0];
    const hashes = new Set(answers.map((answer) => blockOf(resultOf(answer)).hash));
    const [hash = head.hash] = hashes;
    if (hashes.size > 1 || (isHead && hash !== head.hash)) return absent;
    if (!list || "error" in list) {
      return refusalOf(list?.error ?? { code: 0, message: "" }, range);
    }
    const { count, transfers } = transfersIn(list.result, turn, range);
    noteLogs(turn.memory, form, range, count);
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
 * Requests the transfers above `anchor` from a quorum of endpoints, with one query per endpoint,
 * and returns all transfers that any of them shows. Asks the first endpoint whether the anchor is
 * still in the chain.
 *
 * @returns undefined if the anchor is not in the chain, or if an endpoint does not answer or
 *   refuses the query
 */
export async function transfersSince(
  { view, chain, ...of }: Pick<Turn, "view" | "chain" | "memory" | "tuning">,
  anchor: Anchor,
  turn: number,
): Promise<Payment[] | undefined> {
  const range = { from: anchor.number + 1, to: Number.POSITIVE_INFINITY };
  const [first, ...others] = view.clients(turn).slice(0, view.quorum);
  const writeCall = (client: EndpointClient) => {
    const tokens = chooseTokens(client, { chain, memory: of.memory });
    return logsCall(range, tokens, formsFor(of, client.record, range)[0]);
  };
  const answers = await Promise.all([
    first!.ask([writeCall(first!), blockCall(anchor.number)]),
    ...others.map((client) => client.ask([writeCall(client)])),
  ]);
  try {
    const all = answers.map((answer) => (Array.isArray(answer) ? answer.map(resultOf) : []));
    if (blockOf(all[0]![1]).hash !== anchor.hash) return undefined;
    return all.flatMap(
      ([logs]) => transfersIn(logs, { chain, memory: of.memory }, range).transfers,
    );
  } catch {
    return undefined;
  }
}

/**
 * Reads one block, with one query per token. If the endpoint refuses these queries, reads the
 * block's receipts.
 */
async function readBlock(
  client: EndpointClient,
  turn: Turn,
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
      const block = blockOf(resultOf(answers.pop()));
      const found = answers.flatMap((answer) => logsIn(resultOf(answer)));
      const { transfers } = transfersIn(found, turn, range);
      if (transfers.some(({ blockHash }) => blockHash !== block.hash)) return absent;
      return { kind: "shown", end: { number, hash: block.hash }, transfers, isHeavy: true };
    });
    if (answer.kind === "shown" || (answer.kind === "refused" && answer.isSlow)) return answer;
  }
  return refusal;
}

/**
 * Runs a query. The answer is `absent` if the endpoint does not respond or does not have the block.
 */
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

/** Returns the logs of a list of receipts, or the list itself if it contains logs. */
function logsIn(result: unknown): unknown[] {
  if (!Array.isArray(result)) throw unlike("a list of logs", result);
  return result.flatMap((entry) => (Array.isArray(entry?.logs) ? entry.logs : [entry]));
}

/**
 * Returns the payments among `logs`, and the number of transfers. Logs that do not have the form of
 * a token transfer are not payments. A transfer of a look-alike that is too small to be returned is
 * not a payment, unless an open address requests the token.
 */
function transfersIn(
  logs: unknown,
  { chain, memory }: Pick<Turn, "chain" | "memory">,
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

/**
 * The form of a query: the recipients that it names, or undefined for a query without recipients.
 */
type Form = readonly Hex[] | undefined;

/** The approximate number of bytes of a recipient in a request, and of a log in a response. */
const bytes = { recipient: 69, log: 630 };
/**
 * If a range is refused, it is assumed to contain this number of logs, which is a common limit of
 * providers.
 */
const refusedLogs = 10_000;
/**
 * A query with recipients does not measure the number of transfers per block. So each such query
 * multiplies the last measured number by this factor. After many queries, the form without
 * recipients seems cheaper, and the number is measured again.
 */
const logsPerBlockDecay = 0.995;

/**
 * Adds the addresses of unread records to the list of recipients. Stops when the list has one
 * address more than a query can contain.
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

/**
 * The maximum number of unlisted tokens that are requested. It is limited because the size of a
 * query is limited.
 */
const delistedMax = 32;

/**
 * Finds tokens that open addresses request, but that the operator does not list, or lists only as
 * look-alikes. The first turn reads all records before it reads a block. Later turns read only new
 * records.
 */
export async function noteDelisted({ chain, store, memory }: Turn): Promise<void> {
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
  store: Pick<Turn["store"], "findCreated">;
  tuning: Pick<Turn["tuning"], "recipientsMax">;
  memory: FollowMemory;
};

/** Returns the forms of a query for an endpoint. The form with fewer bytes comes first. */
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

/** @param logs the number of logs that an endpoint returned; undefined if it refused the query */
function noteLogs(memory: FollowMemory, form: Form, range: Range, logs: number | undefined) {
  if (form) memory.logsPerBlock *= logsPerBlockDecay;
  else memory.logsPerBlock = (logs ?? refusedLogs) / blocksOf(range);
}

const blocksOf = ({ from, to }: Range) => to - from + 1;
