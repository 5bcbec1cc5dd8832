import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { factoryAddress } from "executable-address-contracts";
import { pino } from "pino";
import { Registry } from "prom-client";
import { openChainRpc } from "../chain/rpc/chain-rpc.ts";
import { startExecutor } from "../executor/start.ts";
import { openStore } from "../roles/open-store.ts";
import { startApp } from "../testing/app.ts";
import { keepRecord } from "../testing/app-on-chain.ts";
import { startTracedNode } from "../testing/chain/traced-node.ts";
import {
  type AnvilWorld,
  fatesOf,
  saveRecords,
  startWorld,
  testConfig,
  until,
} from "../testing/executor/anvil-world.ts";
import { startTelemetry } from "./telemetry.ts";
import { inSpan } from "./trace.ts";

const log = pino({ level: "silent" });

type Received = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  status: { code?: number };
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
};

/** A collector as OTLP over HTTP has it: what was posted to `/v1/traces`. */
async function startCollector() {
  const posts: { path: string; services: unknown[]; spans: Received[] }[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { resourceSpans } = JSON.parse(text);
    posts.push({
      path: request.url!,
      services: resourceSpans.flatMap((each: { resource: { attributes: unknown[] } }) =>
        each.resource.attributes.filter((one) => (one as { key: string }).key === "service.name"),
      ),
      spans: resourceSpans.flatMap((each: { scopeSpans: { spans: Received[] }[] }) =>
        each.scopeSpans.flatMap(({ spans }) => spans),
      ),
    });
    response.setHeader("content-type", "application/json");
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    posts,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

const of = (span: Received, key: string) => {
  const value = span.attributes.find((each) => each.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
};

describe("telemetry is off, and nothing of it is loaded,", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  const off: Record<string, NodeJS.ProcessEnv> = {
    "where no collector is named": { OTEL_SERVICE_NAME: "shop" },
    "where the SDK is disabled": { ...endpoint, OTEL_SDK_DISABLED: "true" },
    "where traces go nowhere": { ...endpoint, OTEL_TRACES_EXPORTER: "none" },
  };
  for (const [where, environment] of Object.entries(off))
    test(where, async () => assert.equal(await startTelemetry(environment, log), undefined));

  const refused: [string, NodeJS.ProcessEnv, RegExp][] = [
    ["a protocol that is not spoken", { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /grpc.*http\/json/],
    ["an exporter that there is not", { OTEL_TRACES_EXPORTER: "zipkin" }, /zipkin.*expected otlp/],
    [
      "a collector without a scheme",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      /a URL .*14 char/,
    ],
  ];
  for (const [what, environment, sentence] of refused)
    test(`and a start is refused for ${what}`, () =>
      assert.rejects(startTelemetry({ ...endpoint, ...environment }, log), sentence));
});

describe("spans at a collector that the standard environment names", () => {
  let world: AnvilWorld;
  let node: Awaited<ReturnType<typeof startTracedNode>>;
  let collector: Awaited<ReturnType<typeof startCollector>>;

  before(async () => {
    world = await startWorld();
    world.startTicking(150);
    node = await startTracedNode(world.chains()[0]!.rpcUrls[0]!);
    collector = await startCollector();
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
    process.env.OTEL_SERVICE_NAME = "shop";
  });
  after(async () => {
    await world.stop();
    await node.stop();
    await collector.stop();
  });
  beforeEach(() => void collector.posts.splice(0));

  /** Gives what was collected while `run` ran; a stop sends what is left. */
  async function collected(run: () => Promise<void>): Promise<Received[]> {
    const stop = await startTelemetry(process.env, log);
    await run();
    await stop!();
    return collector.posts.flatMap(({ spans }) => spans);
  }
  const chains = () => world.chains().map((chain) => ({ ...chain, rpcUrls: [node.rpcUrl] }));

  test("of a request and the calls it makes, below the caller's, without a secret", async () => {
    const known = chains();
    const rpc = openChainRpc(known[0]!.rpcUrls);
    const server = await startApp({
      chains: {
        known,
        listed: () => known,
        find: (id) => known.find(({ chainId }) => chainId === id),
        isListed: () => true,
        rpcOf: () => rpc,
        close: () => {},
      },
    });
    const { address } = await keepRecord(server, await world.newRecord());
    const { apiKey } = await server.newKey();
    const parent = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
    const spans = await collected(async () => {
      const base = await server.app.listen({ port: 0, host: "127.0.0.1" });
      const headers = {
        traceparent: `00-${parent.traceId}-${parent.spanId}-01`,
        authorization: `Bearer ${apiKey}`,
        connection: "close",
      };
      const response = await fetch(`${base}/v1/address/${address}/status?q=query-secret`, {
        headers,
      });
      assert.equal(response.status, 200, await response.text());
      await server.close();
    });
    const [{ path, services }] = collector.posts as [(typeof collector.posts)[0]];
    assert.equal(path, "/v1/traces");
    assert.deepEqual(services, [{ key: "service.name", value: { stringValue: "shop" } }]);

    const request = spans.find(({ kind }) => kind === 2)!;
    assert.equal(request.name, "GET /v1/address/:address/status");
    assert.equal(request.traceId, parent.traceId);
    assert.equal(request.parentSpanId, parent.spanId);
    assert.equal(of(request, "http.response.status_code"), 200);
    const calls = spans.filter(({ kind }) => kind === 3);
    assert.ok(calls.length > 0);
    for (const call of calls) {
      assert.equal(call.traceId, parent.traceId);
      assert.equal(call.parentSpanId, request.spanId);
      assert.equal(of(call, "server.address"), "127.0.0.1");
    }
    assert.deepEqual(
      new Set(node.taken().map(({ traceparent }) => traceparent)),
      new Set(calls.map(({ spanId }) => `00-${parent.traceId}-${spanId}-01`)),
    );
    assert.doesNotMatch(JSON.stringify(spans), /secret|svc_sk_/);
  });

  test("of an execution and the broadcast of its transaction", async () => {
    const directory = mkdtempSync(join(tmpdir(), "telemetry-"));
    const store = await openStore({ dataDirectory: directory });
    const spans = await collected(async () => {
      const executor = startExecutor({
        store,
        chains: chains(),
        factory: factoryAddress,
        config: testConfig,
        registry: new Registry(),
        log,
      });
      const record = await world.newRecord();
      await saveRecords(store, [record]);
      await world.pay([{ to: record.address, amount: record.intent.amount }]);
      await until("executed", async () => (await fatesOf(world, [record]))[0]!.executed === 1);
      await executor.stop();
    });
    await store.close();
    rmSync(directory, { recursive: true });
    const execution = spans.find(({ name }) => name === "executor execute")!;
    assert.equal(execution.parentSpanId, undefined);
    assert.match(String(of(execution, "transaction")), /^0x[0-9a-f]{64}$/);
    assert.equal(of(execution, "addresses"), 1);
    const sent = spans.filter(({ parentSpanId }) => parentSpanId === execution.spanId);
    assert.ok(sent.some(({ name }) => name === "eth_sendRawTransaction"));
    assert.doesNotMatch(JSON.stringify(spans), /secret/);
  });

  test("an error is told by its name, not by its text", async () => {
    const spans = await collected(async () => {
      const options = { kind: "internal" as const, name: "work", attributes: {} };
      const failing = inSpan(options, () => Promise.reject(new RangeError("secret")));
      await assert.rejects(failing, RangeError);
    });
    assert.equal(of(spans[0]!, "error.type"), "RangeError");
    assert.equal(spans[0]!.status.code, 2);
    assert.doesNotMatch(JSON.stringify(spans), /secret/);
  });
});
