// Sends requests to endpoints. A request does not follow redirects, takes at most five seconds, and
// reads at most 64 kB.

import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { readRetryAfterSeconds } from "executable-address/client";
import { withTimeout } from "../flow/wait.ts";
import { resolveTarget, type Targets } from "./guard.ts";

/**
 * The result of a request. `status` is null if there was no response. `answer` is the first
 * kilobyte of the response. If there was no response, `answer` is the reason.
 */
export type Sent = {
  status: number | null;
  answer: string;
  latencyMs: number;
  retryAfterSeconds: number | null;
};

export const isTaken = ({ status }: Sent) => status !== null && status >= 200 && status < 300;

export type Send = (url: string, headers: Record<string, string>, body: string) => Promise<Sent>;

const answerBytesMax = 64 * 1024;
const storedBytesMax = 1024;

/** The maximum total time to resolve the host name, connect, and read the response. */
export const deliveryTimeoutMs = 5_000;

/** Returns a function that sends a request, and whose promise never rejects. */
export const sender =
  (targets: Targets, timeoutMs = deliveryTimeoutMs): Send =>
  async (url, headers, body) => {
    const startedAtMs = performance.now();
    const latencyMs = () => Math.round(performance.now() - startedAtMs);
    const late = () => new Error(`no response within ${timeoutMs} ms`);
    const stopping = new AbortController();
    try {
      const answered = post(url, targets, headers, body, stopping.signal);
      return { ...(await withTimeout(timeoutMs, answered, late)), latencyMs: latencyMs() };
    } catch (error) {
      const answer = describeError(error);
      return { status: null, answer, latencyMs: latencyMs(), retryAfterSeconds: null };
    } finally {
      stopping.abort();
    }
  };

async function post(
  text: string,
  targets: Targets,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<Omit<Sent, "latencyMs">> {
  const { url, address, family } = await resolveTarget(text, targets);
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
      method: "POST",
      agent: false,
      signal,
      headers: { ...headers, "content-length": Buffer.byteLength(body) },
      // Connects to the checked address, regardless of later DNS responses.
      lookup: (_host, { all }, done) =>
        all ? done(null, [{ address, family }]) : done(null, address, family),
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const finish = () => {
        const { date = "", "retry-after": retryAfter = "" } = response.headers;
        const text = Buffer.concat(chunks).subarray(0, storedBytesMax).toString("utf8");
        resolve({
          status: response.statusCode ?? null,
          answer: withoutControls(text),
          retryAfterSeconds: readRetryAfterSeconds(retryAfter, date) ?? null,
        });
        request.destroy();
      };
      response.on("data", (chunk: Buffer) => {
        if (bytes < storedBytesMax) chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > answerBytesMax) finish();
      });
      response.on("end", finish);
      response.on("error", reject);
    });
    request.end(body);
  });
}

const describeError = (error: unknown) => {
  const { message, code } = error as Error & { code?: string };
  return withoutControls(message || code || "no connection").slice(0, storedBytesMax);
};

/**
 * Replaces control characters with spaces. PostgreSQL cannot store NUL, and browsers do not show
 * most other control characters.
 */
const withoutControls = (text: string) => text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, " ");
