// Tests the service with OpenTelemetry's instrumentation, started as docs/production.md describes.
// The test needs OpenTelemetry's 208 packages, which `npm run test:tracing -w service` installs.
// Without these packages, the test is skipped.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { demoTokens, localChainId, shopAddress } from "../scripts/local-chain.ts";
import { startService } from "./service.ts";

const root = resolve(import.meta.dirname, "..");
const skip = existsSync(join(root, "deploy/tracing/node_modules"))
  ? false
  : "npm run test:tracing -w service installs the packages";

type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
};

/** Starts a collector for OTLP over HTTP with JSON. */
async function startCollector() {
  const spans: Span[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    type Exported = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
    const { resourceSpans } = JSON.parse(text) as Exported;
    spans.push(...resourceSpans.flatMap((each) => each.scopeSpans.flatMap((one) => one.spans)));
    response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return { spans, url: `http://127.0.0.1:${port}`, stop: () => server.close() };
}

/** Returns the environment variables from docs/production.md, for the collector at `url`. */
function documentedEnvironment(url: string): Record<string, string> {
  const page = readFileSync(join(root, "docs/production.md"), "utf8");
  const section = page.slice(
    page.indexOf("## Traces"),
    page.indexOf("## What to do if an alert fires"),
  );
  const [, command] = /```sh\n(npm ci[\s\S]*?)```/.exec(section)!;
  const settings = command!.matchAll(/^(?:export )?(\w+)="([^"\n]*)"/gm);
  const environment = Object.fromEntries([...settings].map(([, name, value]) => [name!, value!]));
  const imported = environment.NODE_OPTIONS!.replace("--import file://$PWD/", "");
  return {
    ...environment,
    NODE_OPTIONS: `--import ${pathToFileURL(join(root, imported))}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
  };
}

const readAttribute = ({ attributes }: Span, key: string) => {
  const value = attributes.find((each) => each.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
};

test("the service exports a trace of each request", { skip }, async (t) => {
  const collector = await startCollector();
  t.after(collector.stop);
  const service = await startService(documentedEnvironment(collector.url));
  let isStopped = false;
  t.after(() => isStopped || service.stop());

  const expirationTimestamp = Math.floor(Date.now() / 1000) + 3600;
  const created = await fetch(`${service.baseUrl}/address/create`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      token: demoTokens[0]!.address,
      amount: "25000000",
      calls: [{ target: shopAddress, function: "pay(uint256 orderId)", args: ["1"] }],
      expirationTimestamp,
      recovery: shopAddress,
      chainId: localChainId,
    }),
  });
  assert.equal(created.status, 200);
  const { address } = (await created.json()) as { address: string };
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const status = await fetch(`${service.baseUrl}/address/${address}/status`, {
    headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  });
  assert.equal(status.status, 200, await status.text());
  // The exporter sends the remaining spans on exit.
  await service.stop();
  isStopped = true;

  const traced = collector.spans.filter((span) => span.traceId === traceId);
  const request = traced.find(({ kind }) => kind === 2)!;
  assert.equal(request.parentSpanId, "b7ad6b7169203331");
  assert.equal(readAttribute(request, "url.path"), `/v1/address/${address}/status`);
  assert.equal(readAttribute(request, "http.response.status_code"), 200);
  const calls = traced.filter(({ kind }) => kind === 3);
  assert.ok(calls.length > 0);
  for (const call of calls) {
    assert.equal(call.parentSpanId, request.spanId);
    assert.equal(readAttribute(call, "server.address"), "127.0.0.1");
  }
});
