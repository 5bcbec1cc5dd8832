// What ends in the log while an endpoint is down and clients hang up: no secret, and no line for
// each request.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { newIntent } from "../../service/http/app-for-tests.ts";
import { startPostgres, type TestPostgres } from "../../service/store/postgres-for-tests.ts";
import { type Server, startServer } from "./server-for-tests.ts";

const secret = "f00dfeed5ec2e7";
const requests = process.env.ATTACKS === "long" ? 2_000 : 200;

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the log during an outage, on ${dialect}`, () => {
    let server: Server;
    const node = createServer((_, response) => response.writeHead(500).end("no"));
    before(async () => {
      await once(node.listen(0, "127.0.0.1"), "listening");
      const { port } = node.address() as AddressInfo;
      const env = dialect === "postgres" ? { DATABASE_URL: postgres.url } : {};
      const rpcUrl = `http://user:${secret}@127.0.0.1:${port}/v2/${secret}?key=${secret}`;
      server = await startServer({ rpcUrl, env });
    });
    after(async () => {
      await server.stop();
      node.close();
    });

    const create = () =>
      fetch(`${server.base}/v1/address/create`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify(newIntent()),
      });

    test("is a few lines, with no secret in any of them", async () => {
      const { address } = (await (await create()).json()) as { address: string };
      const before = server.lines.length;
      for (let sent = 0; sent < requests; sent += 20) {
        const asked = Array.from({ length: 20 }, () =>
          fetch(`${server.base}/v1/address/${address}/status`),
        );
        for (const answer of await Promise.all(asked)) {
          assert.equal(answer.status, 503);
          assert.ok(!(await answer.text()).includes(secret));
        }
      }
      const lines = server.lines.slice(before);
      assert.ok(lines.length >= 1 && lines.length <= 5, lines.join("\n"));
      for (const line of server.lines) assert.ok(!line.includes(secret), line);
      assert.ok(!server.lines.join().includes(server.apiKey));
    });

    test("tells nothing of clients that hang up in the middle of a body", async () => {
      const before = server.lines.length;
      for (let i = 0; i < 20; i++) {
        const socket = connect(server.port, "127.0.0.1");
        const head = `POST /v1/address/create HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n`;
        const type = "Content-Type: application/json\r\nExpect: 100-continue\r\n";
        socket.write(`${head}${type}Authorization: Bearer ${server.apiKey}\r\n\r\n`);
        await once(socket, "data");
        socket.write("{");
        socket.destroy();
      }
      assert.equal((await create()).status, 200);
      assert.deepEqual(server.lines.slice(before), []);
    });
  });
}
