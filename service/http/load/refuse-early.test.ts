// Tests the refusal of create requests above the limit. The server refuses these requests before
// the framework parses them. The responses are the same as the framework's.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { exchange, listen, newIntent, startApp, type TestApp } from "../../testing/app.ts";

const create = "/v1/address/create";
const elsewhere = "/v1/address/%63reate";

describe("requests to `/v1/address/create` that the server refuses with 503", () => {
  const draining = new AbortController();
  const body = JSON.stringify(newIntent());
  let service: TestApp;
  let port: number;
  before(async () => {
    service = await startApp({ limits: { createsInFlightMax: 0 }, draining: draining.signal });
    port = await listen(service);
  });
  after(() => service.close());

  const about = `Host: x\r\nContent-Length: ${body.length}\r\n`;
  const posted = async (path: string, more = "Connection: close\r\n") =>
    exchange(port, `POST ${path} HTTP/1.1\r\n${about}${more}\r\n${body}`);
  const partsOf = (answer: string) => {
    const [head = "", text] = answer.split("\r\n\r\n");
    const [status, ...lines] = head.split("\r\n");
    const headers = new Map(lines.map((line) => line.split(": ") as [string, string]));
    return { status, headers, text };
  };
  const count = async () => {
    const text = await service.parts.metrics.registry.metrics();
    const value = (name: string) => Number(text.split(`${name} `)[1]?.split("\n")[0] ?? 0);
    return {
      shed: value('http_shed_total{route="create"}'),
      answers: value(`http_responses_total{route="${create}",status="503"}`),
      durations: value(`http_response_seconds_count{route="${create}"}`),
    };
  };

  test("get the same response as requests that the framework refuses", async () => {
    const [early, late] = [partsOf(await posted(create)), partsOf(await posted(elsewhere))];
    assert.equal(early.status, "HTTP/1.1 503 Service Unavailable");
    assert.equal(early.text, late.text);
    const { code, message } = JSON.parse(early.text!).error;
    assert.equal(code, "service_unavailable");
    const full = 'expected at most 0 simultaneous requests for "create", found 1';
    assert.equal(message, `${full}: try again in a second`);
    const ids = [early, late].map(({ headers }) => headers.get("x-request-id")!);
    assert.match(ids[0]!, /^[0-9a-f]{12}-[0-9a-z]+$/);
    assert.notEqual(ids[0], ids[1]);
    for (const { headers } of [early, late]) {
      for (const name of ["x-request-id", "Date"]) assert.ok(headers.delete(name), name);
    }
    const sorted = ({ headers }: typeof early) => [...headers].sort();
    assert.deepEqual(sorted(early), sorted(late));
    assert.equal(early.headers.get("retry-after"), "1");
    assert.equal(early.headers.get("access-control-allow-origin"), "*");
    assert.equal(early.headers.get("x-content-type-options"), "nosniff");
  });

  test("are counted in metrics", async () => {
    const start = await count();
    await posted(create);
    const one = { shed: 1, answers: 1, durations: 1 };
    const plus = (a: typeof one, b: typeof one) => ({
      shed: a.shed + b.shed,
      answers: a.answers + b.answers,
      durations: a.durations + b.durations,
    });
    assert.deepEqual(await count(), plus(start, one));
    await posted(elsewhere);
    assert.deepEqual(await count(), plus(plus(start, one), one));
  });

  test("are refused with or without a query string, but only at the exact path", async () => {
    assert.match(await posted(`${create}?reference=1`), /^HTTP\/1.1 503/);
    assert.match(await posted(`${create}x`), /^HTTP\/1.1 405/);
    assert.match(await posted(`${create}/x`), /^HTTP\/1.1 404/);
    const get = `GET ${create} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    assert.match(await exchange(port, get), /^HTTP\/1.1 400/);
  });

  test("leave their connection open for the next request", async () => {
    const next = "GET /v1/chains HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const socket = connect(port, "127.0.0.1").setEncoding("utf8");
    socket.write(`POST ${create} HTTP/1.1\r\n${about}\r\n${body.slice(0, 10)}`);
    let answer = String(await once(socket, "data"));
    assert.match(answer, /^HTTP\/1.1 503/);
    assert.match(answer, /\r\nConnection: keep-alive\r\n/);
    socket.write(body.slice(10) + next);
    for await (const chunk of socket) answer += chunk;
    assert.deepEqual(answer.match(/HTTP\/1.1 \d+/g), ["HTTP/1.1 503", "HTTP/1.1 200"]);
    const both = `POST ${create} HTTP/1.1\r\n${about}\r\n${body}${next}`;
    const pipelined = await exchange(port, both);
    assert.deepEqual(pipelined.match(/HTTP\/1.1 \d+/g), ["HTTP/1.1 503", "HTTP/1.1 200"]);
  });

  test("close their connection during a drain", async () => {
    draining.abort();
    for (const path of [create, elsewhere]) {
      const answer = await posted(path, "");
      assert.match(answer, /^HTTP\/1.1 503/);
      assert.match(answer, /\r\nconnection: close\r\n/i);
    }
  });
});

test("control: without overload, the credential of a create request is checked", async () => {
  const service = await startApp({ limits: { createsInFlightMax: 1 } });
  const port = await listen(service);
  const answer = await exchange(port, `POST ${create} HTTP/1.0\r\nHost: x\r\n\r\n`);
  assert.match(answer, /^HTTP\/1.1 401/);
  await service.close();
});
