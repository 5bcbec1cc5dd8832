// Calls a chain when one endpoint's answer is sufficient: each endpoint in turn until one answers.

import { invalidParameters } from "executable-address/status";
import { type Endpoint, type EndpointChain, httpEndpoint } from "./endpoint.ts";
import {
  type EndpointRecord,
  openRecord,
  recordFailedAt,
  recordHealthy,
} from "./endpoint-record.ts";
import { type Heads, openHeads } from "./heads.ts";
import { type CallError, CallRefused } from "./json-rpc.ts";
import { classifyError } from "./node-errors.ts";

export type ChainRpc = {
  /**
   * @throws {CallRefused} if a node returned an error, and no other a result
   * @throws {ChainUnavailable} if no endpoint answered
   */
  request(method: string, params: unknown[]): Promise<unknown>;
  heads: Heads;
};

const timeoutMs = 10_000;
/** An endpoint that failed is called last for this time. */
const standBackMs = 15_000;

/**
 * @param urls tried in this order
 * @param now milliseconds of a monotonic clock
 * @param chain if given, this process's other requests to its URLs share their limits
 */
export function openChainRpc(
  urls: readonly string[],
  now = () => performance.now(),
  chain?: EndpointChain,
): ChainRpc {
  const endpoints = urls.map((url, index) =>
    httpEndpoint(`${index}:${new URL(url).host}`, url, { timeoutMs }, chain),
  );
  const heads = openHeads((method, params) => rpc.request(method, params), now);
  const rpc: ChainRpc = { request: requester(endpoints), heads };
  return rpc;
}

function requester(endpoints: readonly Endpoint[]): ChainRpc["request"] {
  const records = endpoints.map(openRecord);
  const isBack = ({ failedAtMs }: EndpointRecord) =>
    failedAtMs !== undefined && performance.now() - failedAtMs < standBackMs;
  return async (method, params) => {
    let refusal: CallError | undefined;
    let failure: unknown;
    const order = records.toSorted((a, b) => Number(isBack(a)) - Number(isBack(b)));
    for (const record of order) {
      try {
        const [answer] = await record.endpoint.ask([{ method, params }]);
        recordHealthy(record);
        if ("result" in answer!) return answer.result;
        refusal = answer!.error;
        // Another node would return the same revert, or the same error for wrong parameters.
        const kind = classifyError(method, refusal);
        if (kind === "reverted" || refusal.code === invalidParameters) break;
      } catch (error) {
        recordFailedAt(record, performance.now());
        failure = error;
      }
    }
    if (refusal) throw new CallRefused(refusal);
    throw failure;
  };
}
