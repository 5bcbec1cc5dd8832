// Sends requests to a service, and checks the responses against the OpenAPI document. Records which
// documented responses the service has returned.

import assert from "node:assert/strict";
import type { AddressRecord, Hex } from "executable-address";
import type { AddressStatus } from "executable-address/status";
import type { EventType } from "executable-address/webhook";
import type { InjectOptions } from "fastify";
import { findCredentials } from "../accounts/account.ts";
import { addOrigin } from "../accounts/origins/origin-list.ts";
import { type Change, writeEventBody } from "../events/changes.ts";
import { newIntent, type TestApp } from "./app.ts";
import type { World } from "./chain/world.ts";
import { document, judge } from "./openapi.ts";

export const origin = "https://shop.example.com";
/** An address for which no intent is stored. */
export const strange = `0x${"1".repeat(40)}`;
export const eventId = `evt_${"0".repeat(32)}`;
export const intentPaths = ["/address/create", "/address/check"];
/** More headers than the service accepts. */
export const manyHeaders = Object.fromEntries(
  Array.from({ length: 65 }, (_, i) => [`x-${i}`, "1"]),
);
/** The result of the limiter for a request above the limit. */
export const overLimit = { admitted: false, remaining: 0, resetMs: 2000, retryMs: 20 };

type Request = InjectOptions & { url?: string };
const methods = ["get", "post", "delete"] as const;

/**
 * Returns functions that send requests to `service`, check the responses, and record their
 * statuses.
 */
export function checkAnswers(service: TestApp) {
  const seen = new Set<string>();
  const subject = { address: strange };

  /** Sends a request. Asserts that the response has `status` and matches the document. */
  async function expect(status: number, path: string, request: Request, to = service) {
    const method = { POST: "post", DELETE: "delete" }[request.method as string] ?? "get";
    const response = await to.app.inject({
      url: `/v1${path.replace("{address}", subject.address).replace("{id}", eventId)}`,
      ...request,
    });
    assert.equal(response.statusCode, status, response.body);
    judge(response, path, method as "get");
    seen.add(`${method} ${path} ${status}`);
    return response;
  }

  /**
   * Sends requests until the service refuses a request with 429. The limit refills meanwhile, so
   * the test must send more requests if the service is slow.
   */
  async function expectLimit(path: string, request: Request & { method: "GET" | "POST" }) {
    for (let time = 0; time < 50; time++) {
      const many = Array.from({ length: 100 }, () => service.app.inject(request));
      const response = (await Promise.all(many)).find(({ statusCode }) => statusCode === 429);
      if (!response) continue;
      const method = request.method === "GET" ? "get" : "post";
      judge(response, path, method);
      seen.add(`${method} ${path} 429`);
      return;
    }
    assert.fail(`${path}: none of 5,000 requests was refused`);
  }

  /**
   * Sends a create or check request. Uses a new API key, so that earlier requests do not count
   * against its rate limit.
   */
  async function create(
    status: number,
    more: { headers?: Record<string, string>; payload?: string | Buffer } = {},
    to = service,
    path = "/address/create",
  ) {
    const { apiKey } = await to.newKey();
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${apiKey}`,
      ...more.headers,
    };
    const payload = more.payload ?? JSON.stringify(newIntent());
    return expect(status, path, { method: "POST", headers, payload }, to);
  }

  /**
   * Saves a record. Later requests use the record's address in place of `{address}` in the path.
   */
  async function save(record: AddressRecord, { parts }: TestApp = service) {
    const [key, terms] = [record.address, record.terms].map((hex) =>
      Buffer.from(hex.slice(2), "hex"),
    );
    const owner = { accountId: "acc_0123456789abcdef01234567", createdAtMs: Date.now() };
    await parts.store.saveRecord({ address: key!, terms: terms!, ...owner });
    subject.address = record.address;
    return record;
  }

  /**
   * Asserts that the service has returned every documented status of the operations that have one
   * of the `tags`.
   */
  function assertAllSeen(tags: readonly string[]) {
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      methods.flatMap((method) => {
        const {
          tags: [tag],
          responses,
        } = operations[method] ?? { tags: [], responses: {} };
        if (tag === undefined || !tags.includes(tag)) return [];
        return Object.keys(responses).map((status) => `${method} ${path} ${status}`);
      }),
    );
    assert.ok(documented.length > 0);
    assert.deepEqual(
      documented.filter((each) => !seen.has(each)),
      [],
    );
  }

  return { subject, seen, expect, expectLimit, create, save, assertAllSeen };
}

export async function newClientId({ newKey, parts: { store } }: TestApp): Promise<string> {
  const { accountId } = await newKey();
  await addOrigin(store.db, accountId, origin, { atMs: Date.now() });
  return (await findCredentials(store.db, accountId)).clientId.client_id;
}

/** Returns the body of an event of the type `type`, about an address without payments. */
export async function writeEvent(world: World, type: EventType): Promise<string> {
  const { address, intent } = await world.newRecord();
  const block = { number: 1, hash: `0x${"1".repeat(64)}`, timestamp: 1 } as const;
  const status: AddressStatus = {
    ...{ address, state: "funded", chainId: 1, block, token: intent.token, balance: "100" },
    ...{ amount: "100", expirationTimestamp: intent.expirationTimestamp, recoverable: [] },
    ...{ execution: null, recoveries: [] },
  };
  const kept = {
    ...{ transactionHash: block.hash, logIndex: 3, blockNumber: 1, payer: address },
    ...{ blockHash: block.hash, token: intent.token as Hex, amount: "100" },
  };
  const paid = { ...kept, isSmall: false, isLookalike: false, claim: 0 };
  const payment = { ...kept, kind: "requested", isLate: false, isLast: false } as const;
  const kind = "own" as const;
  const change: Change = type === "address.payment" ? { kind, type, payment } : { kind, type };
  const named = { reference: null, claimedReference: null, createdBy: "api_key" } as const;
  const of = { named, sequence: 1 };
  const event = { ...of, id: eventId, change, atMs: 1, publicUrl: "https://pay.example" };
  return writeEventBody(event, status, { payments: [paid], isSwept: true, lateBlocks: new Set() });
}
