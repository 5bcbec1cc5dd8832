// Tests that webhooks connect only to public addresses. A server on this machine counts its
// connections.

import assert from "node:assert/strict";
import { scrypt } from "node:crypto";
import { createSocket } from "node:dgram";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { isPublic, parseTarget, publicNames, resolveTarget } from "./guard.ts";
import { sender } from "./send.ts";

/**
 * Hosts that are not public: private, loopback, link-local, and metadata addresses. Some addresses
 * have unusual notations or contain an IPv4 address within an IPv6 address.
 */
const hosts = `
  127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 017700000001 0177.0.0.1
  127.255.255.254 0.0.0.0 0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255
  169.254.169.254 169.254.0.1 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.170 192.0.2.1
  192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.7
  203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 3232235521 0xa9fea9fe
  0251.0376.0251.0376 169.254.43518 [::] [::1] [::ffff:127.0.0.1] [::ffff:7f00:1]
  [::ffff:169.254.169.254] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::a00:1] [100::1]
  [2001::1] [2001:db8::1] [2002:7f00:1::] [2001:10::1] [3fff::1] [5f00::1] [fc00::1]
  [fd00:ec2::254] [fe80::1] [fec0::1] [ff02::1] [::ffff:0:127.0.0.1] [2001:2::1] localhost
  LOCALHOST localhost. intranet metadata a.localhost`
  .split(/\s+/)
  .filter(Boolean);

/** Host names for which a malicious name server returns internal addresses. */
const names: Record<string, string[]> = {
  "loopback.example.com": ["127.0.0.1"],
  "six.example.com": ["::1"],
  "mapped.example.com": ["::ffff:10.0.0.1"],
  "metadata.example.com": ["169.254.169.254"],
  "both.example.com": ["93.184.216.34", "192.168.1.1"],
  "nowhere.example.com": [],
};

/**
 * Starts a name server that answers only queries for names with `quick` in them. The answer is an
 * IPv4 address.
 */
async function startNameServer() {
  const server = createSocket("udp4");
  server.on("message", (question, { port, address }) => {
    if (!question.includes("quick")) return;
    const end = question.indexOf(0, 12) + 5;
    const isFour = question.readUInt16BE(end - 4) === 1;
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 93, 184, 216, 34]);
    const head = Buffer.from([...question.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isFour ? 1 : 0]);
    const rest = [Buffer.alloc(4), question.subarray(12, end), ...(isFour ? [answer] : [])];
    server.send(Buffer.concat([head, ...rest]), port, address);
  });
  await new Promise<void>((resolve) => server.bind(0, "127.0.0.1", resolve));
  return {
    at: `127.0.0.1:${server.address().port}`,
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

describe("the target URL of a webhook", () => {
  let server: Server;
  let port: number;
  let connections = 0;
  before(async () => {
    server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "::", resolve));
    port = (server.address() as AddressInfo).port;
  });
  after(() => server.close());

  test(`is never contacted if its host is internal (${hosts.length} hosts)`, async () => {
    assert.ok(hosts.length >= 60);
    const send = sender("public", 1_000);
    for (const host of hosts) {
      for (const url of [
        `https://${host}:${port}/hook`,
        `https://${host}/`,
        `http://${host}:${port}/`,
      ]) {
        const { status, answer } = await send(url, {}, "{}");
        assert.equal(status, null, url);
        assert.match(answer, /^expected |does not resolve/, url);
      }
    }
    assert.equal(connections, 0);
  });

  test("is refused if its host name has both a public and an internal address", async () => {
    const resolve = async (host: string) =>
      names[host]!.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    for (const [host, addresses] of Object.entries(names)) {
      const inside = addresses.at(-1);
      const message = inside
        ? `expected a host with public addresses only, found ${inside}`
        : `the host name ${host} does not resolve to an address`;
      const found = resolveTarget(`https://${host}/`, "public", resolve);
      await assert.rejects(found, { name: "TargetError", message });
    }
  });

  test("is resolved only once, so that the request uses the checked address", async () => {
    let asked = 0;
    const rebinding = async () => [
      { address: asked++ === 0 ? "93.184.216.34" : "127.0.0.1", family: 4 },
    ];
    const target = await resolveTarget("https://rebind.example.com/", "public", rebinding);
    assert.deepEqual([asked, target.address], [1, "93.184.216.34"]);
  });

  test("fails after the timeout if the server does not respond", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const { status, answer } = await sender("any", 50)(`http://127.0.0.1:${port}/`, {}, "{}");
    assert.deepEqual([status, answer], [null, "no response within 50 ms"]);
    silent.close();
  });

  test("is resolved quickly even if the name servers of other hosts do not respond", async () => {
    const names = await startNameServer();
    const resolve = publicNames([names.at]);
    const silent = Array.from({ length: 16 }, (_, i) =>
      resolveTarget(`https://silent-${i}.example.com/`, "public", resolve),
    );
    const gone = Promise.allSettled(silent).then(() => "gone");
    const target = await resolveTarget("https://quick.example.com/", "public", resolve);
    assert.deepEqual([target.address, target.family], ["93.184.216.34", 4]);
    const hashed = promisify(scrypt)("password", "salt", 32).then(() => "hashed");
    assert.equal(await Promise.race([gone, hashed]), "hashed");
    for (const each of silent) await assert.rejects(each, /does not resolve to an address/);
    await names.stop();
  });

  test("is refused with a reason if it is invalid or has an internal host name", () => {
    const noUrl = /^expected a URL such as .*, found \d+ characters that are not a URL$/;
    for (const [url, message] of [
      ["http://example.com/", "expected https:, found http:"],
      ["ftp://example.com/", "expected https:, found ftp:"],
      ["file:///etc/passwd", "expected https:, found file:"],
      [
        "https://user:pass@example.com/",
        "expected a URL without a user name or password, found a password",
      ],
      [`https://example.com/${"x".repeat(500)}`, "expected at most 500 characters, found 520"],
      ["example.com", noUrl],
      ["", noUrl],
      ["https://", noUrl],
      ["https://localhost/hook?key=1", "expected a public host name, found localhost"],
      ["https://intranet./", "expected a public host name, found intranet."],
    ] as const) {
      assert.throws(() => parseTarget(url, "public"), { name: "TargetError", message });
    }
  });

  test("is accepted if its address is public, or if private targets are allowed", () => {
    for (const address of [
      "93.184.216.34",
      "1.1.1.1",
      "2606:4700::1111",
      "172.32.0.1",
      "192.0.1.1",
    ]) {
      assert.ok(isPublic(address), address);
    }
    assert.equal(
      parseTarget("https://shop.example.com/a?b#c", "public").href,
      "https://shop.example.com/a?b",
    );
    assert.equal(parseTarget("http://127.0.0.1:9/", "any").port, "9");
  });
});
