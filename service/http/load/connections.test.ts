// Tests how the server treats connections: the Host header, CONNECT, and pipelined requests.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { exchange, listen, newIntent, startApp, type TestApp } from "../../testing/app.ts";
import { operations } from "../openapi/operations.ts";

const create = "/v1/address/create";

test("a request with two `Host` headers or an invalid `Host` header gets 400", async () => {
  const service = await startApp();
  const port = await listen(service);
  const ask = (about: string) =>
    exchange(port, `GET /v1/chains HTTP/1.1\r\n${about}Connection: close\r\n\r\n`);
  const hosts = ["a.example/path", "a b", "user@a.example", "a.example:x", "[::1"];
  const wrong = hosts.map((host) => `Host: ${host}\r\n`);
  for (const about of [...wrong, "Host: a.example\r\nhost: b.example\r\n"]) {
    const answer = await ask(about);
    assert.match(answer, /^HTTP\/1.1 400 /, about);
    assert.equal(JSON.parse(answer.split("\r\n\r\n")[1]!).error.code, "invalid_request");
  }
  for (const host of ["a.example", "A.example:8080", "127.0.0.1:1", "[::1]:8080", ""])
    assert.match(await ask(`Host: ${host}\r\n`), /^HTTP\/1.1 200 /, host);
  await service.close();
});

test("a CONNECT request gets 405", async () => {
  const service = await startApp();
  const port = await listen(service);
  const answer = await exchange(port, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n");
  assert.match(answer, /^HTTP\/1.1 405 Method Not Allowed\r\n/);
  const allowed = /\r\nallow: ([A-Z, ]+)\r\n/.exec(answer)![1]!.split(", ");
  assert.deepEqual(allowed.toSorted(), ["DELETE", "GET", "HEAD", "OPTIONS", "POST"]);
  assert.deepEqual(
    Object.values(operations).filter(({ method }) => !allowed.includes(method)),
    [],
  );
  assert.equal(JSON.parse(answer.split("\r\n\r\n")[1]!).error.code, "method_not_allowed");
  await service.close();
});

describe("pipelined requests on one connection", () => {
  const address = `0x${"ab".repeat(20)}`;
  const get = `GET /v1/address/${address} HTTP/1.1\r\nHost: x\r\n\r\n`;
  let service: TestApp;
  let port: number;
  before(async () => {
    service = await startApp();
    port = await listen(service);
  });
  after(() => service.close());

  const answered = (text: string) => text.split("HTTP/1.1 404").length - 1;

  test("are answered in order, up to 17 requests", async () => {
    const last = get.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    const chains = "GET /v1/chains HTTP/1.1\r\nHost: x\r\n\r\n";
    const answers = await exchange(port, get + chains + get.repeat(14) + last);
    assert.equal(answered(answers), 16);
    assert.match(answers.split("HTTP/1.1 ")[2]!, /^200/);
  });

  test("close the connection if more than 17 requests are pending", async () => {
    let served = 0;
    const count = () => served++;
    service.app.server.prependListener("request", ({ socket }, response) => {
      response.once("finish", () => !socket.destroyed && count());
    });
    const answers = await exchange(port, get.repeat(1_500));
    assert.ok(answered(answers) <= 17 && served <= 17, `${served} served`);
    assert.match(
      await exchange(port, get.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")),
      /404/,
    );
  });
});

describe("clients that do not read their responses", () => {
  let service: TestApp;
  let port: number;
  let areTaken = true;
  before(async () => {
    service = await startApp({ limits: { createsInFlightMax: 4, lookupsInFlightMax: 4 } });
    // Simulates a client that reads nothing: the socket keeps all written data in its buffer.
    service.app.server.on("connection", (socket) => areTaken || socket.cork());
    port = await listen(service);
  });
  after(() => service.close());

  test("do not count against the limits on simultaneous requests", async () => {
    const { apiKey } = await service.newKey();
    const ask = () => {
      const body = JSON.stringify(newIntent());
      const credential = `Authorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n`;
      const about = `Host: x\r\n${credential}Content-Length: ${body.length}\r\n\r\n`;
      return [
        `POST ${create} HTTP/1.1\r\n${about}${body}`,
        `GET /v1/address/0x${"ab".repeat(20)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      ];
    };
    let ended = 0;
    service.app.server.on("request", (_, response) => response.once("prefinish", () => ended++));
    areTaken = false;
    const sockets = [];
    for (let round = 0; round < 20; round++) {
      for (const text of ask()) {
        const socket = connect(port, "127.0.0.1");
        socket.write(text);
        sockets.push(socket);
      }
      while (ended < sockets.length) await new Promise(setImmediate);
    }
    areTaken = true;
    for (const [index, text] of ask().entries()) {
      const last = text.replace("Host: x", "Host: x\r\nConnection: close");
      assert.match(await exchange(port, last), index === 0 ? /^HTTP\/1.1 200/ : /^HTTP\/1.1 404/);
    }
    for (const socket of sockets) socket.destroy();
  });
});
