// Tests record lookups while the service is down and a mirror returns wrong data. Each lookup must
// return the correct record or no record, after at most two round trips.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { isLong } from "../../scripts/long.ts";
import { InvalidError } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { makeRecord } from "../record.ts";
import { sample } from "../test/samples.ts";
import { createClient } from "./client.ts";
import { NetworkError, UnprovenError } from "./errors.ts";
import { findRecord } from "./mirrors.ts";

const lookups = isLong ? 100_000 : 2_000;
const main = "https://pay.example/v1";
const mirrors = ["https://a.example/v1", "https://b.example/v1", "https://c.example/v1"];

const records = Array.from({ length: 50 }, (_, at) =>
  makeRecord({ ...sample, salt: `0x${String(at).padStart(64, "0")}` }),
);
const find = (address: string) =>
  records.find((each) => each.address.toLowerCase() === address.toLowerCase());

type Source = (record: AddressRecord, at: number) => unknown;
const truth: Source = (record) => record;
const lies: Source[] = [
  () => records[49],
  (record) => ({ ...record, intent: { ...record.intent, recovery: records[1]!.address } }),
  (record) => ({ ...record, terms: records[2]!.terms }),
  () => ({ error: { code: "not_found", message: "no intent", issues: [] } }),
  () => "<!doctype html>",
];
const liar: Source = (record, at) => lies[at % lies.length]!(record, at);

/**
 * Creates a client whose `sources` return the given responses. `rounds` is the number of round
 * trips. Simultaneous requests count as one round trip.
 */
function open(sources: Record<string, Source | "dead" | "silent">) {
  const seen = { rounds: 0 };
  let open = 0;
  let asked = 0;
  const fetch = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const url = String(input);
    const source = sources[new URL(url).host] ?? "dead";
    if (open === 0) seen.rounds += 1;
    open += 1;
    try {
      await new Promise((resolve) => setImmediate(resolve));
      init?.signal?.throwIfAborted();
      if (source === "dead") throw new TypeError("fetch failed");
      if (source === "silent")
        return await new Promise((_, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal!.reason));
        });
      const record = find(url.split("/").at(-1)!);
      const body = record && source(record, asked++);
      const isThere = record && !(body as { error?: unknown }).error;
      const missing = { error: { code: "not_found", message: "no intent", issues: [] } };
      return new Response(JSON.stringify(body ?? missing), { status: isThere ? 200 : 404 });
    } finally {
      open -= 1;
    }
  };
  const client = createClient({ baseUrl: main, mirrors, fetch: fetch as typeof globalThis.fetch });
  return { client, seen };
}

describe("a client with mirrors", () => {
  test("createClient refuses a mirror with an invalid base URL", () => {
    const wanted = 'expected a URL such as "https://pay.example/v1"';
    for (const [mirrors, message] of [
      [["ftp://a.example"], `mirrors[0]: ${wanted}, found 15 characters`],
      [[main, "https://u:p@a.example"], `mirrors[1]: ${wanted}, found 21 characters`],
      ["https://a.example", "mirrors: expected a list, found a string"],
    ] as const)
      assert.throws(() => createClient({ baseUrl: main, mirrors: mirrors as never }), {
        ...{ name: "TypeError", message },
      });
  });

  test(`all ${lookups} lookups are right even if one of three mirrors lies`, async () => {
    for (const lying of ["a.example", "b.example", "c.example"]) {
      const honest = { "a.example": truth, "b.example": truth, "c.example": truth };
      const { client, seen } = open({ ...honest, [lying]: liar });
      for (let at = 0; at < lookups / 3; at++) {
        const { address } = records[at % records.length]!;
        seen.rounds = 0;
        assert.equal((await client.lookup(address))?.address, address);
        assert.ok(seen.rounds <= 2, `${seen.rounds} rounds`);
      }
      assert.equal(seen.rounds, 1, "the one that answered is asked first from then on");
    }
  });

  test("`lookup` returns the first valid record that a server returns", async () => {
    const { client } = open({ "pay.example": "silent", "a.example": liar, "c.example": truth });
    const [{ address }] = records as [AddressRecord];
    assert.equal((await client.lookup(address))?.address, address);
    const { client: lost } = open({ "a.example": liar, "b.example": liar, "c.example": liar });
    for (const _ of lies) await assert.rejects(lost.lookup(address), NetworkError);
  });

  test("`lookup` throws `UnprovenError` if the only response is a wrong record", async () => {
    const [{ address }] = records as [AddressRecord];
    const { client } = open({ "pay.example": (_, at) => lies[at % 3]!(records[0]!, at) });
    await assert.rejects(client.lookup(address), UnprovenError);
  });

  test("`lookup` returns a mirror's record if the service has no record", async () => {
    const { client } = open({ "pay.example": lies[3]!, "a.example": liar, "b.example": truth });
    const [{ address }] = records as [AddressRecord];
    assert.equal((await client.lookup(address))?.address, address);
  });

  test("`lookup` returns undefined only if the service itself returns 404", async () => {
    const unknown: Hex = `0x${"5a".repeat(20)}`;
    const { client: honest, seen } = open({ "pay.example": truth, "a.example": truth });
    assert.equal(await honest.lookup(unknown), undefined);
    assert.equal(seen.rounds, 2);
    const { client: away } = open({ "a.example": truth, "b.example": truth, "c.example": truth });
    await assert.rejects(away.lookup(unknown), NetworkError);
  });

  test("`lookup` throws the abort reason if the caller aborts", async () => {
    const { client } = open({ "pay.example": "silent", "a.example": "silent" });
    const controller = new AbortController();
    const lookup = client.lookup(records[0]!.address, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(lookup, /enough/);
  });
});

describe("findRecord", () => {
  const [record, other] = records as [AddressRecord, AddressRecord];
  const find = async (...answers: RequestListener[]) => {
    const servers = answers.map((answer) => createServer(answer).listen(0, "127.0.0.1"));
    await Promise.all(servers.map((server) => once(server, "listening")));
    const urls = servers.map((server) => {
      const { port } = server.address() as AddressInfo;
      return `http://127.0.0.1:${port}`;
    });
    try {
      return await findRecord(urls, record.address, new AbortController().signal);
    } finally {
      for (const server of servers) server.close().closeAllConnections();
    }
  };
  const say =
    (body: unknown, status = 200): RequestListener =>
    (_, response) => {
      response.writeHead(status).end(JSON.stringify(body));
    };
  const breakOff: RequestListener = (_, response) => {
    response.writeHead(200, { "content-length": 1000 });
    response.write("{", () => response.destroy());
  };

  test("findRecord returns the record of the address", async () => {
    assert.deepEqual(await find(say(record)), { kind: "record", record });
  });

  test("findRecord returns `wrong` if the record belongs to another address", async () => {
    const found = await find(say(other));
    assert.equal(found.kind, "wrong");
    assert.ok("error" in found && found.error instanceof InvalidError);
  });

  test("findRecord returns `wrong` if the response is not JSON", async () => {
    const found = await find((_, response) => response.end("<!doctype html>"));
    assert.equal(found.kind, "wrong");
  });

  test("findRecord returns `missing` for a 404 and `unreachable` for other failures", async () => {
    assert.deepEqual(await find(say({}, 404)), { kind: "missing" });
    assert.deepEqual(await find(say({}, 503)), { kind: "unreachable" });
    assert.deepEqual(await find(breakOff), { kind: "unreachable" });
  });

  test("findRecord returns the second server's record if the first server fails", async () => {
    for (const liar of [say(other), say({}, 404), breakOff])
      assert.deepEqual(await find(liar, say(record)), { kind: "record", record });
  });
});
