// Tests that one client cannot use up the resources of a server. The client requests 60 simulations
// and opens 30 event streams.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { openChainRpc } from "../../service/chain/rpc/chain-rpc.ts";
import { newIntent, testChains } from "../../service/testing/app.ts";
import { type Deployment, deployments, startDeployment } from "./deployments.ts";

const perClient = 8;
const hash = `0x${"1b".repeat(32)}`;
const fees = { baseFeePerGas: "0x1", gasLimit: "0x1c9c380" };
const newestBlock = { number: "0x1", hash, parentHash: hash, timestamp: "0x6b49d200", ...fees };

for (const kind of deployments) {
  describe(`a client that overuses ${kind}`, () => {
    let deployed: Deployment;
    let address: string;
    let calls = 0;
    // This node returns the newest block and rejects all other requests. `calls` counts the
    // rejected requests.
    const node = createServer(async (asked, answer) => {
      const [{ id, method }] = [JSON.parse(await text(asked))].flat() as [Record<string, unknown>];
      if (method === "eth_getBlockByNumber") {
        return answer.end(JSON.stringify({ jsonrpc: "2.0", id, result: newestBlock }));
      }
      calls++;
      answer.writeHead(500).end();
    });

    before(async () => {
      await once(node.listen(0, "127.0.0.1"), "listening");
      const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
      deployed = await startDeployment(kind, {
        chains: { ...testChains, rpcOf: () => openChainRpc([url]) },
        trustedProxies: "127.0.0.1",
        limits: { simulationCallsPerMinute: 20 },
        eventLimits: { streamsMax: 20, streamsPerClientMax: perClient },
      });
      for (const { app } of deployed.servers) await app.listen({ host: "127.0.0.1", port: 0 });
      const { apiKey } = await deployed.next().newKey();
      const created = await deployed.next().app.inject({
        method: "POST",
        url: "/v1/address/create",
        headers: { authorization: `Bearer ${apiKey}` },
        payload: newIntent(),
      });
      address = created.json().address;
    });
    after(async () => {
      await deployed.close();
      node.close();
    });

    const ask = async (path: string, client: string) => {
      const headers = { "x-forwarded-for": client };
      const { port } = deployed.next().app.server.address() as AddressInfo;
      const asked = request({ host: "127.0.0.1", port, path, headers }).end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      return { status: answer.statusCode, answer, hangUp: () => asked.destroy() };
    };

    // This test runs first, because it counts all requests to the node. The event streams of the
    // next test also cause requests.
    test("gets 429 if it requests too many simulations", async () => {
      const path = `/v1/address/${address}/simulation`;
      const statuses = new Map<number, number>();
      for (let i = 0; i < 60; i++) {
        const { status, hangUp } = await ask(path, "192.0.2.1");
        statuses.set(status!, (statuses.get(status!) ?? 0) + 1);
        hangUp();
      }
      assert.ok((statuses.get(429) ?? 0) >= 25, JSON.stringify([...statuses]));
      for (let client = 2; client < 12; client++) {
        for (let i = 0; i < 10; i++) (await ask(path, `192.0.2.${client}`)).hangUp();
      }
      // The limit is 20 calls per minute. The test allows 40 calls, in case a new minute begins.
      assert.ok(calls > 0 && calls <= 40, `${calls} calls`);
    });

    test(`can open at most ${perClient} event streams per server`, async () => {
      const path = `/v1/address/${address}/events`;
      const greedy = [];
      for (let i = 0; i < 30; i++) greedy.push(await ask(path, "192.0.2.1"));
      const opened = greedy.filter(({ status }) => status === 200);
      assert.equal(opened.length, perClient * deployed.servers.length);
      const refused = greedy.find(({ status }) => status !== 200)!;
      assert.equal(refused.status, 503);
      assert.ok(refused.answer.headers["retry-after"]);
      const other = await ask(path, "192.0.2.2");
      assert.equal(other.status, 200);
      // Control: the client can open a new stream after it has closed one.
      opened[0]!.hangUp();
      let again = await ask(path, "192.0.2.1");
      while (again.status !== 200) again = await ask(path, "192.0.2.1");
      for (const each of [...greedy, other, again]) each.hangUp();
    });

    test("control: the client can still look up an address", async () => {
      assert.equal((await ask(`/v1/address/${address}`, "192.0.2.1")).status, 200);
    });
  });
}
