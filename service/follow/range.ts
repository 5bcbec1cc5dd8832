// Reads the logs of one range of blocks from as many endpoints as necessary. After a refusal,
// decides whether to read the range again in smaller parts. Also decides which endpoints to ask
// next time. sweep.ts selects the ranges, and logs.ts queries one endpoint.

import type { Hex } from "executable-address";
import { pickAgreed } from "executable-address/client/internal";
import {
  recordAllLogsRefused,
  recordLogsShown,
  recordLogsSlow,
  shrinkLogRange,
} from "../chain/rpc/endpoint-record.ts";
import { ChainUnavailable } from "../chain/rpc/json-rpc.ts";
import type { EndpointClient } from "../chain/rpc/view.ts";
import type { SweepContext } from "./context.ts";
import { type LogsAnswer, readLogs } from "./logs.ts";
import type { Range } from "./payment.ts";

export type Shown = Extract<LogsAnswer, { kind: "shown" }> & { client: EndpointClient };
type Refused = Extract<LogsAnswer, { kind: "refused" }> & { client: EndpointClient };
type RangeAnswer = LogsAnswer & { client: EndpointClient };

/**
 * The result for a range of blocks. If too few endpoints returned the range's logs, `refusal` is
 * the answer of an endpoint that refused. A range of several blocks must then be read again in
 * smaller parts.
 */
export type RangeReading = { shown: Shown[]; refused: Refused[]; refusal: Refused | undefined };

/**
 * Reads a range's logs from at most `count` endpoints.
 *
 * @throws {ChainUnavailable} if no endpoint answers, or if two endpoints have different blocks
 */
export async function readRange(
  context: SweepContext,
  range: Range,
  count: number,
): Promise<RangeReading> {
  const answers = await requestRange(context, range, count);
  const shown = answers.filter((each): each is Shown => each.kind === "shown");
  const refused = answers.filter((each): each is Refused => each.kind === "refused");
  if (shown.length + refused.length === 0) {
    const names = answers
      .map(({ client }) => client.name)
      .toSorted()
      .join(", ");
    throw new ChainUnavailable(
      `expected the logs of blocks ${range.from} to ${range.to} of chain ` +
        `${context.chain.chainId}, found no usable answer from ${names || "any endpoint"}`,
    );
  }
  assertOneEnd(shown);
  const failed = answers.length - shown.length;
  const isRead = shown.length > 0 && !(await mustReadSmaller(context, range, refused, failed));
  const refusal = refused.findLast(({ isSlow }) => isSlow) ?? refused[0];
  return { shown, refused, refusal: isRead ? undefined : refusal };
}

/**
 * Requests the range from one endpoint after another, until `count` endpoints agree on the range's
 * last block.
 */
async function requestRange(
  context: SweepContext,
  range: Range,
  count: number,
): Promise<RangeAnswer[]> {
  const { memory, tuning } = context;
  const blocks = range.to - range.from + 1;
  const answers: RangeAnswer[] = [];
  for (const client of orderEndpoints(context, blocks)) {
    const answer = await readLogs(client, context, range);
    answers.push({ ...answer, client });
    if (answer.kind === "refused" && answer.isSlow)
      recordLogsSlow(client.record, memory.sweepNumber);
    if (answer.kind !== "shown") continue;
    recordLogsShown(client.record, blocks, tuning.rangeBlocksMax);
    if (findAgreedHash(answers, count)) break;
  }
  return acceptAgreed(answers, count);
}

/** Returns the last block's hash if `count` endpoints agree on this hash. */
function findAgreedHash(answers: readonly RangeAnswer[], count: number): Hex | undefined {
  const shown = answers.filter((each): each is Shown => each.kind === "shown");
  return pickAgreed(shown, count, ({ end }) => end.hash)?.end.hash;
}

/**
 * If `count` endpoints agree on the range's last block, ignores the endpoints that returned another
 * block. So a single endpoint that returns wrong blocks cannot stop the scan.
 */
function acceptAgreed(answers: RangeAnswer[], count: number): RangeAnswer[] {
  const agreed = findAgreedHash(answers, count);
  if (!agreed) return answers;
  return answers.map((each) => {
    if (each.kind !== "shown" || each.end.hash === agreed) return each;
    each.client.accuse("eth_getBlockByNumber");
    return { kind: "absent", client: each.client };
  });
}

function assertOneEnd(shown: readonly Shown[]): void {
  const [first, ...others] = shown;
  const other = others.find(({ end }) => end.hash !== first!.end.hash);
  if (!other) return;
  const [one, two] = [first!, other].map(({ client, end }) => `${end.hash} at ${client.name}`);
  throw new ChainUnavailable(
    "the endpoints disagree, possibly because of a reorganization: " +
      `block ${other.end.number} has the hash ${one}, but ${two}`,
  );
}

/**
 * Returns whether to read a range again in smaller parts, after some endpoints refused it. Smaller
 * parts are not necessary if the other endpoints are enough for a quorum. Smaller parts do not help
 * if the refusing endpoints refuse even a single block. Smaller parts may help if an endpoint was
 * too slow for the range.
 *
 * @param failed the number of endpoints that did not return the range
 */
async function mustReadSmaller(
  context: SweepContext,
  range: Range,
  refused: readonly Refused[],
  failed: number,
): Promise<boolean> {
  if (refused.length === 0) return false;
  const all = context.view.clients(0);
  const able = all.filter((client) => !isRefusing(context, client)).length || all.length;
  if (able - failed >= context.view.quorum) return false;
  return (
    refused.some(({ isSlow }) => isSlow) || !(await refuseSingleBlock(context, refused, range))
  );
}

/**
 * Returns whether every endpoint in `refused` also refuses the logs of the range's last block. If
 * so, smaller ranges do not help. An endpoint that refuses a single block is not asked for logs in
 * the next sweeps.
 */
async function refuseSingleBlock(
  context: SweepContext,
  refused: readonly Refused[],
  { from, to }: Range,
): Promise<boolean> {
  for (const { client, message } of refused) {
    const answer = from < to ? await readLogs(client, context, { from: to, to }) : undefined;
    if (answer && (answer.kind !== "refused" || answer.isSlow)) return false;
    recordAllLogsRefused(client.record, context.memory.sweepNumber, message);
  }
  return true;
}

/**
 * Returns the endpoints to ask, in order. First comes the endpoint that has returned the fewest
 * blocks since the newest anchor. Endpoints whose limit is smaller than the range come last,
 * because they would refuse the range.
 */
function orderEndpoints(context: SweepContext, blocks: number): EndpointClient[] {
  const isNarrow = ({ record }: EndpointClient) => Number(record.logs.rangeBlocks < blocks);
  return findWilling(context).toSorted((a, b) => isNarrow(a) - isNarrow(b));
}

/**
 * Returns the endpoints to ask for logs. Omits endpoints that were recently too slow for a log
 * query or refused all logs. If no endpoint remains, returns all endpoints.
 */
function findWilling(context: SweepContext): EndpointClient[] {
  const { memory, view } = context;
  const all = view.clients(memory.sweepNumber);
  const shownUntil = ({ name }: EndpointClient) => memory.shown.get(name)?.number ?? -1;
  const willing = all.filter((client) => !isSlow(context, client) && !isRefusing(context, client));
  return (willing.length > 0 ? willing : all).toSorted((a, b) => shownUntil(a) - shownUntil(b));
}

const isSlow = ({ memory }: SweepContext, { record }: EndpointClient): boolean =>
  record.logs.slowUntilSweep > memory.sweepNumber;

const isRefusing = ({ memory }: SweepContext, { record }: EndpointClient): boolean =>
  (record.logs.refusing?.untilSweep ?? 0) > memory.sweepNumber;

/** Returns the number of blocks that a quorum of endpoints allows in one query. */
export function computeRangeBlocks(context: SweepContext): number {
  const limits = findWilling(context).map(({ record }) => record.logs.rangeBlocks);
  limits.sort((a, b) => b - a);
  return limits[Math.min(context.view.quorum, limits.length) - 1]!;
}

/**
 * Reduces the maximum range of each endpoint that failed to return the range.
 * {@link shrinkLogRange} computes the new maximum.
 *
 * @returns false if the sweep must end because of a slow endpoint or a rate limit
 */
export function shrinkRange(
  context: SweepContext,
  { shown, refused, refusal }: RangeReading,
  { from, to }: Range,
): boolean {
  const names = new Set(shown.map(({ client }) => client.name));
  for (const { name, record } of context.view.clients(0)) {
    if (names.has(name)) continue;
    const own = refused.find(({ client }) => client.name === name);
    shrinkLogRange(record, to - from + 1, own?.statedBlocks);
  }
  return !refusal?.isSlow && !refusal?.isLimited;
}

/**
 * Returns undefined if enough endpoints for a quorum accept log queries. Otherwise, returns the
 * names and error messages of the endpoints that refuse every log query.
 */
export function explainNoQuorum(context: SweepContext): string | undefined {
  const { view } = context;
  const all = view.clients(0);
  const refusing = all.filter((client) => isRefusing(context, client));
  if (refusing.length === 0 || all.length - refusing.length >= view.quorum) return undefined;
  return refusing.map(({ name, record }) => `${name}: ${record.logs.refusing!.message}`).join(", ");
}
