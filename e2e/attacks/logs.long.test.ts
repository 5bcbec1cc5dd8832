// Tests the log while an endpoint or the database fails and clients disconnect. The log must not
// contain secrets. Its length must not grow with each request or retry.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isLong } from "../../scripts/long.ts";
import { newIntent } from "../../service/testing/app.ts";
import { type Deployment, deployments, startProcesses } from "./deployments.ts";
import type { Server } from "./server.ts";

const secret = "f00dfeed5ec2e7";
const requests = isLong ? 2_000 : 200;
/**
 * The length of the outage. In `npm run test:long`, every loop of the service has time for several
 * retries. In `npm test`, only webhook deliveries have time for retries.
 */
const outageMs = isLong ? 15_000 : 3_000;
const EXECUTOR_KEY = `0x${secret.padStart(64, "1")}`;

for (const kind of deployments) {
  describe(`the log of ${kind} during an outage`, () => {
    let deployed: Deployment<Server>;
    const node = createServer((_, response) => response.writeHead(500).end("no"));
    before(async () => {
      await once(node.listen(0, "127.0.0.1"), "listening");
      const { port } = node.address() as AddressInfo;
      const rpcUrl = `http://user:${secret}@127.0.0.1:${port}/v2/${secret}?key=${secret}`;
      deployed = await startProcesses(kind, { rpcUrl, env: { ROLE: "all", EXECUTOR_KEY } });
    });
    after(async () => {
      await deployed.close();
      node.close();
    });
    /** Returns the lines that each server logs from now on. */
    const following = () => {
      const begun = deployed.servers.map(({ lines }) => lines.length);
      return () => deployed.servers.map(({ lines }, at) => lines.slice(begun[at]));
    };

    const create = (server: Server) =>
      fetch(`${server.base}/v1/address/create`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify(newIntent()),
      });

    test("repeats no message and contains no secret while the node fails", async () => {
      const created = await create(deployed.next());
      const { address } = (await created.json()) as { address: string };
      const written = following();
      for (let sent = 0; sent < requests; sent += 20) {
        const asked = Array.from({ length: 20 }, () =>
          fetch(`${deployed.next().base}/v1/address/${address}/status`),
        );
        for (const answer of await Promise.all(asked)) {
          assert.equal(answer.status, 503);
          assert.ok(!(await answer.text()).includes(secret));
        }
      }
      await sleep(outageMs);
      assertSeldom(written());
      const secrets = [secret, ...deployed.servers.map(({ apiKey }) => apiKey)];
      for (const line of deployed.servers.flatMap(({ lines }) => lines)) {
        for (const each of secrets) assert.ok(!line.includes(each), line);
      }
    });

    test("repeats no message while PostgreSQL is down", {
      skip: kind === "one server on SQLite" ? "for SQLite, see full-disk.long.test.ts" : false,
    }, async () => {
      const written = following();
      const ask = async (server: Server, path: string) => {
        const headers = { authorization: `Bearer ${server.apiKey}` };
        assert.ok((await fetch(server.base + path, { headers })).status >= 500);
      };
      await deployed.postgres!.restart(async () => {
        for (let sent = 0; sent < 20; sent++) {
          for (const server of deployed.servers) {
            assert.equal((await create(server)).status, 503);
            await ask(server, `/v1/address/0x${randomBytes(20).toString("hex")}`);
            await ask(server, "/v1/addresses");
            await ask(server, "/readyz");
          }
        }
        await sleep(outageMs);
      });
      assertSeldom(written());
      for (const lines of written()) assert.ok(!lines.join().includes("postgres:postgres"));
      for (const server of deployed.servers) {
        while ((await create(server)).status !== 200) await sleep(50);
      }
    });

    test("does not mention clients that disconnect early", async () => {
      const written = following();
      for (let i = 0; i < 20; i++) {
        const server = deployed.next();
        const socket = connect(server.port, "127.0.0.1");
        const head = `POST /v1/address/create HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n`;
        const type = "Content-Type: application/json\r\nExpect: 100-continue\r\n";
        socket.write(`${head}${type}Authorization: Bearer ${server.apiKey}\r\n\r\n`);
        await once(socket, "data");
        socket.write("{");
        socket.destroy();
      }
      for (const server of deployed.servers) assert.equal((await create(server)).status, 200);
      assert.deepEqual(written().flat(), []);
    });
  });
}

/**
 * Checks that each server logged messages, and that it logged each message only once. A repeated
 * message is logged at most once a minute. The test takes less than a minute.
 */
function assertSeldom(written: string[][]): void {
  for (const lines of written) {
    const kinds = lines.map((line) => {
      const { msg, err, message } = JSON.parse(line);
      return `${msg} ${err?.message ?? message}`.replace(/\d+/g, "#");
    });
    assert.ok(lines.length > 0);
    assert.deepEqual(kinds.toSorted(), [...new Set(kinds)].toSorted());
  }
}
