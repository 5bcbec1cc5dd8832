// Tests the headers and errors that all routes share. Some errors are from the framework or the
// HTTP parser.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { exchange, listen, newIntent, startApp, type TestApp, testChains } from "../testing/app.ts";
import { buildApp } from "./app.ts";
import { createMetrics } from "./metrics.ts";

let service: TestApp;
let port: number;
before(async () => {
  service = await startApp();
  port = await listen(service);
});
after(() => service.close());

const raw = (text: string, to = port) => exchange(to, text);

function assertShape(answer: string, status: number, code: string): void {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
  assert.match(head, /content-type: application\/json/i);
  assert.match(head, /access-control-allow-origin: \*/i);
  const { error } = JSON.parse(body);
  assert.equal(error.code, code);
  assert.equal(typeof error.message, "string");
  assert.ok(Array.isArray(error.issues));
}

const closing = "Host: x\r\nConnection: close\r\n";

describe("the API", () => {
  test("returns 400 for a path with invalid percent-encoding", async () => {
    for (const path of ["/v1/address/%zz", "/v1/%", "/v1/address/%E0%A4%A"]) {
      assertShape(await raw(`GET ${path} HTTP/1.1\r\n${closing}\r\n`), 400, "invalid_request");
    }
  });

  test("returns 404 `unknown_path` for an unknown path, with any method and body", async () => {
    for (const path of [
      "/v1",
      "/v1/",
      "/v1/nothing",
      "/v1/address/",
      "/v1/chains/",
      "/v2/chains",
    ]) {
      // The path `/v1/address/` is a known path with an empty address, so the status is 400.
      if (path === "/v1/address/") continue;
      for (const method of ["GET", "POST", "DELETE"] as const) {
        const response = await service.app.inject({
          method,
          url: path,
          headers: method === "POST" ? { "content-type": "text/plain" } : {},
          ...(method === "POST" ? { payload: "x" } : {}),
        });
        assert.equal(response.statusCode, 404, `${method} ${path}`);
        const { code, message } = response.json().error;
        assert.equal(code, "unknown_path");
        assert.equal(message, `the path "${path}" does not exist; API paths start with /v1`);
        const cors = response.headers["access-control-allow-origin"];
        assert.equal(cors, path.startsWith("/v1") ? "*" : undefined);
      }
    }
  });

  test("returns 405 `method_not_allowed` for a wrong method without reading the body", async () => {
    const cases = [
      ["PUT", "/v1/address/create", "POST, GET, HEAD, OPTIONS"],
      ["POST", `/v1/address/0x${"11".repeat(20)}`, "GET, HEAD, OPTIONS"],
      ["DELETE", "/v1/chains", "GET, HEAD, OPTIONS"],
      ["PATCH", "/v1/chains", "GET, HEAD, OPTIONS"],
      ["TRACE", "/v1/chains", "GET, HEAD, OPTIONS"],
      ["PROPFIND", "/v1/chains", "GET, HEAD, OPTIONS"],
    ] as const;
    for (const [method, path, allow] of cases) {
      const body = method === "TRACE" ? "" : "Content-Type: text/plain\r\nContent-Length: 1\r\n";
      const request = `${method} ${path} HTTP/1.1\r\n${closing}${body}\r\n${body && "x"}`;
      const answer = await raw(request);
      assertShape(answer, 405, "method_not_allowed");
      assert.ok(answer.toLowerCase().includes(`allow: ${allow.toLowerCase()}\r\n`), answer);
    }
  });

  test("returns 431 `headers_too_large` for more than 64 headers or 16 KiB", async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => `X-${i}: 1\r\n`).join("");
    const request = (headers: string) => `GET /v1/chains HTTP/1.1\r\n${closing}${headers}\r\n`;
    const refused = await raw(request(many(63)));
    assertShape(refused, 431, "headers_too_large");
    assert.ok(refused.includes('"expected at most 64 headers, found 65"'), refused);
    assert.match(await raw(request(many(62))), /^HTTP\/1.1 200/);
    assertShape(await raw(request(`X: ${"x".repeat(17_000)}\r\n`)), 431, "headers_too_large");
    assertShape(await raw(request(many(3000))), 431, "headers_too_large");
  });

  test("returns 400 for data that is not HTTP", async () => {
    for (const text of ["hello\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x00\xee\x01"]) {
      assertShape(await raw(text), 400, "invalid_request");
    }
    const twoLengths = `Host: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n`;
    const smuggled = `POST /v1/address/create HTTP/1.1\r\n${twoLengths}\r\n0\r\n\r\n`;
    assertShape(await raw(smuggled), 400, "invalid_request");
  });

  test("returns 400 for an HTTP/1.1 request without `Host`", async () => {
    const answer = await raw("GET /v1/chains HTTP/1.1\r\nConnection: close\r\n\r\n");
    assertShape(answer, 400, "invalid_request");
    assert.match(await raw("GET /v1/chains HTTP/1.0\r\n\r\n"), /^HTTP\/1.1 200/);
  });

  test("returns errors with a request ID and a header against MIME sniffing", async () => {
    const heads = ["GET /v1/address/%zz", "GET /nowhere", "PUT /v1/chains", "POST /%", "HEAD /%a"];
    for (const head of heads) {
      const answer = await raw(`${head} HTTP/1.1\r\n${closing}\r\n`);
      assert.match(answer, /^HTTP\/1.1 40[045] /, head);
      assert.match(answer, /x-content-type-options: nosniff\r\n/i, head);
      assert.match(answer, /x-request-id: /i, head);
    }
    assert.match(await raw("hello\r\n\r\n"), /x-content-type-options: nosniff\r\n/i);
  });

  test("returns the same headers for HEAD as for GET, without a body", async () => {
    const digits = "11".repeat(20);
    for (const path of ["/v1/address/0x12", `/v1/address/0x${digits}`, "/v1/address/%zz", "/x"]) {
      const request = (method: string) => `${method} ${path} HTTP/1.1\r\n${closing}\r\n`;
      const [got, head] = [await raw(request("GET")), await raw(request("HEAD"))];
      const [gotHead = "", body = ""] = got.split("\r\n\r\n");
      const fields = (text: string) =>
        text.split("\r\n").filter((line) => !/^(x-request-id|date):/i.test(line));
      assert.deepEqual(fields(head.split("\r\n\r\n")[0]!), fields(gotHead), path);
      assert.equal(head.split("\r\n\r\n")[1], "");
      assert.match(gotHead, new RegExp(`content-length: ${Buffer.byteLength(body)}`, "i"));
    }
  });

  test("returns 413 even to a client that reads only after it has sent its body", async () => {
    const { apiKey } = await service.newKey();
    const bytes = 4 * 2 ** 20;
    for (const connection of ["close", "keep-alive"]) {
      const socket = connect(port, "127.0.0.1").setEncoding("utf8");
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk;
      });
      socket.write(
        `POST /v1/address/create HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n` +
          `Authorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${bytes}\r\n\r\n`,
      );
      const chunk = "x".repeat(2 ** 16);
      for (let sent = 0; sent < bytes; sent += chunk.length) {
        if (!socket.write(chunk)) await once(socket, "drain");
      }
      while (!answer.includes('"issues":[]')) await once(socket, "data");
      assertShape(answer, 413, "body_too_large");
      if (connection === "close") await once(socket, "end");
      socket.destroy();
    }
  });

  test("returns 500 `internal_error` for a bug, with details only in the log", async () => {
    const listed = () => {
      throw new Error("the secret of the house");
    };
    const broken = await startApp({ chains: { ...testChains, listed } });
    const response = await broken.app.inject("/v1/chains");
    assert.equal(response.statusCode, 500);
    assert.equal(response.json().error.code, "internal_error");
    assert.ok(!response.body.includes("secret"));
    assert.ok(broken.logged.some((line) => line.includes("the secret of the house")));
    await broken.close();
  });

  test("logs no error for a 503 that states its reason, however often it is sent", async () => {
    const stopping = await startApp({ draining: AbortSignal.abort() });
    const { apiKey } = await stopping.newKey();
    const headers = { authorization: `Bearer ${apiKey}` };
    const path = "/v1/address/create";
    const made = stopping.app.inject({ method: "POST", url: path, headers, payload: newIntent() });
    const { address } = (await made).json();
    for (let i = 0; i < 3; i++) {
      const response = await stopping.app.inject(`/v1/address/${address}/events`);
      assert.equal(response.statusCode, 503);
      assert.match(response.json().error.message, /the server is shutting down/);
    }
    assert.deepEqual(stopping.logged, []);
    await stopping.close();
  });

  test("returns 408 `request_timeout` if the headers arrive too late", async () => {
    const strict = await startApp({ limits: { headersMsMax: 100 } });
    const port = await listen(strict);
    const answer = await raw("GET /v1/chains HTTP/1.1\r\nHost: x\r\nX-Slow: ", port);
    assertShape(answer, 408, "request_timeout");
    await strict.close();
  });

  test("returns 417 for an `Expect` header other than 100-continue", async () => {
    const answer = await raw(`GET /v1/chains HTTP/1.1\r\n${closing}Expect: wonders\r\n\r\n`);
    assertShape(answer, 417, "expectation_failed");
    assert.match(answer, /expected Expect: 100-continue or no Expect header, found \\"wonders\\"/);
  });

  test("returns 503 with `Retry-After` for too many simultaneous create requests", async () => {
    const busy = await startApp({ limits: { createsInFlightMax: 2 } });
    const busyPort = await listen(busy);
    const { apiKey } = await busy.newKey();
    const credential = `Authorization: Bearer ${apiKey}\r\n`;
    const head = `POST /v1/address/create HTTP/1.1\r\n${closing}${credential}`;
    const body = JSON.stringify(newIntent());
    const json = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const slow = [1, 2].map(() => connect(busyPort, "127.0.0.1").setEncoding("utf8"));
    for (const socket of slow) {
      socket.write(`${head}Expect: 100-continue\r\n${json}`);
      assert.match(String(await once(socket, "data")), /^HTTP\/1.1 100/);
    }
    // Sends no body, because the server refuses the request before it reads the body.
    const refused = await raw(head + json, busyPort);
    assertShape(refused, 503, "service_unavailable");
    assert.match(refused, /retry-after: 1\r\n/i);
    const full = 'expected at most 2 simultaneous requests for "create", found 3';
    const { error } = JSON.parse(refused.split("\r\n\r\n")[1]!) as { error: { message: string } };
    assert.equal(error.message, `${full} (incomplete bodies: 2): try again in a second`);
    assert.match(
      await raw(`GET /v1/chains HTTP/1.1\r\n${closing}\r\n`, busyPort),
      /^HTTP\/1.1 200/,
    );
    for (const socket of slow) {
      socket.write(body);
      let answer = "";
      for await (const chunk of socket) answer += chunk;
      assert.match(answer, /^HTTP\/1.1 200/);
    }
    assert.match(await raw(head + json + body, busyPort), /^HTTP\/1.1 200/);
    await busy.close();
  });
});

test("a route with a Fastify schema prevents the start of the service", async () => {
  const app = buildApp({ ...service.parts, metrics: createMetrics() });
  app.get("/with-schema", { schema: { querystring: { type: "object" } } }, async () => "");
  await assert.rejects(async () => app.ready(), /a route must not have a Fastify schema/);
});

describe("every response that the framework sends", () => {
  test("has a unique `X-Request-Id`", async () => {
    const seen = new Set();
    for (const url of ["/v1/chains", "/v1/chains", "/v1/nothing", "/v1/address/%zz", "/livez"]) {
      const response = await service.app.inject({ url, headers: { "x-request-id": "mine" } });
      const id = response.headers["x-request-id"];
      assert.ok(typeof id === "string" && id.length > 8 && id !== "mine", url);
      seen.add(id);
    }
    assert.equal(seen.size, 5);
  });

  test("to a preflight request does not wait for its body", async () => {
    const socket = connect(port, "127.0.0.1");
    const headers = ["Host: localhost", "Content-Type: application/json", "Content-Length: 100000"];
    socket.write(["OPTIONS /v1/chains HTTP/1.1", ...headers, "", "{"].join("\r\n"));
    const [answer] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1\.1 204 /);
    socket.destroy();
  });

  test("to a preflight request has the status 204 and CORS headers", async () => {
    for (const url of [
      "/v1/address/create",
      `/v1/address/0x${"1".repeat(40)}`,
      "/v1/chains",
      "/v1/x",
    ]) {
      const response = await service.app.inject({
        method: "OPTIONS",
        url,
        headers: {
          origin: "https://shop.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type,x-client-id",
        },
      });
      assert.equal(response.statusCode, 204, url);
      assert.equal(response.body, "");
      assert.equal(response.headers["access-control-allow-origin"], "*");
      const allowed = String(response.headers["access-control-allow-headers"]);
      for (const name of ["Authorization", "Content-Type", "X-Client-Id", "traceparent"]) {
        assert.ok(allowed.includes(name));
      }
      assert.match(String(response.headers["access-control-allow-methods"]), /GET|POST/);
    }
  });

  test("exposes the rate limit, the request ID, and Retry-After to web pages", async () => {
    const { headers } = await service.app.inject({ url: "/v1/chains" });
    const exposed = String(headers["access-control-expose-headers"]);
    for (const name of ["RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"]) {
      assert.ok(exposed.split(", ").includes(name), name);
    }
  });
});

describe("GET /livez and /readyz", () => {
  test("`readyz` returns 503 and `livez` returns 200 during a drain", async () => {
    const draining = await startApp({ draining: AbortSignal.abort() });
    assert.equal((await draining.app.inject({ url: "/readyz" })).statusCode, 503);
    assert.equal((await draining.app.inject({ url: "/livez" })).statusCode, 200);
    await draining.close();
  });

  test("`livez` and `readyz` return 200 without CORS headers", async () => {
    for (const url of ["/livez", "/readyz"]) {
      const response = await service.app.inject({ url });
      assert.equal(response.statusCode, 200);
      assert.equal(response.headers["access-control-allow-origin"], undefined);
    }
  });
});

test("metrics count responses by route and status, and do not contain addresses", async () => {
  await service.app.inject({ url: `/v1/address/0x${"12".repeat(20)}` });
  const text = await service.parts.metrics.registry.metrics();
  assert.match(text, /http_responses_total\{route="\/v1\/address\/:address",status="404"\} \d+/);
  assert.match(text, /http_response_seconds_count\{route="\/v1\/address\/:address"\} \d+/);
  assert.ok(!text.includes("121212"));
});
