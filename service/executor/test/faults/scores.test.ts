// Tests an endpoint that returns wrong answers to one method, next to two correct endpoints. The
// endpoint and the method appear in the log, in the metrics, and in the output of `admin chains
// check`. The executor asks this endpoint last.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { factoryAddress } from "executable-address-contracts";
import { pino } from "pino";
import { demoTokens, localChainId } from "../../../../scripts/local-chain.ts";
import { onlyLong } from "../../../../scripts/long.ts";
import { saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { partsFor, prepare } from "../../../testing/executor/executor.ts";
import { startProxy } from "../../../testing/executor/rpc-proxy.ts";
import { startExecutor } from "../../start.ts";

const { world, store, directory } = await prepare({ tickMs: 150 });

type Lie = { result: unknown } | { error: { code: number; message: string } };

/** Starts an endpoint that returns wrong answers only to the methods in `lies`. */
async function endpoint(lies: Record<string, Lie> = {}) {
  const { url, stop } = await startProxy(world.rpcUrl, ({ method }, answer) => {
    const lie = lies[method];
    return lie ? { id: answer.id, jsonrpc: "2.0", ...lie } : answer;
  });
  after(stop);
  return { url, host: new URL(url).host };
}

/**
 * Starts an executor with the endpoints `urls`, and lets it execute some payments. Returns parts of
 * the log and the metrics.
 */
async function whatIsSeen(context: TestContext, urls: string[]) {
  const lines: { msg: string; rpc?: string; method?: string }[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const parts = partsFor(store, world.chains(urls));
  const executor = startExecutor({ ...parts, log });
  context.after(executor.stop);
  const records = await Promise.all([1, 2, 3, 4].map(() => world.newRecord()));
  await saveRecords(store, records);
  await world.pay(records.map((each) => ({ to: each.address, amount: each.intent.amount })));
  const metricsOf = () => parts.registry.metrics();
  // Each poll reports the scores that the endpoints had at the start of the poll. The last poll
  // starts after the payments were executed, so its scores include the wrong answers.
  await until("they are settled", async () =>
    /^executor_executed_total\{.*\} 4$/m.test(await metricsOf()),
  );
  await executor.stop();
  const metrics = (await metricsOf()).split("\n");
  return {
    reported: lines
      .filter(({ msg }) => msg === "rpc differs")
      .map(({ rpc, method }) => [rpc, method]),
    scoreOf: (name: string) => {
      const line = metrics.find(
        (each) => each.startsWith(`executor_rpc_score{`) && each.includes(name),
      );
      return Number(line?.split(" ").at(-1));
    },
    differs: metrics.filter((line) => /^executor_rpc_differs_total\{/.test(line)),
  };
}

/**
 * Runs `admin chains check`.
 *
 * @returns the exit status, and two lists of methods for each endpoint. The first list contains
 *   the methods for which the endpoint and other endpoints return different answers. The second
 *   list contains the methods that the endpoint refuses
 */
async function check(urls: string[]) {
  const file = join(directory, "chains.json");
  const chain = { chainId: localChainId, name: "Local", tokens: demoTokens, rpcUrls: urls };
  writeFileSync(file, JSON.stringify([chain]));
  const program = join(import.meta.dirname, "../../../admin.ts");
  const env = { ...process.env, CHAINS_FILE: file, DATA_DIR: directory };
  const { stdout, code } = await promisify(execFile)(
    process.execPath,
    [program, "chains", "check"],
    { env },
  ).then(
    ({ stdout }) => ({ stdout, code: 0 }),
    ({ stdout, code }) => ({ stdout, code }),
  );
  const verdicts = JSON.parse(stdout) as { differsOn: string[]; refuses: string[] }[];
  return { verdicts: verdicts.map(({ differsOn, refuses }) => [differsOn, refuses]), code };
}

const lies: Record<string, Lie> = {
  eth_getTransactionCount: { result: "0x7" },
  eth_getCode: { result: "0x60" },
};

describe("an endpoint with wrong answers", () => {
  for (const [method, lie] of Object.entries(lies)) {
    const options = method === "eth_getCode" ? {} : onlyLong;
    test(
      `appears in the log and the metrics with the method ${method}`,
      options,
      async (context) => {
        const bad = await endpoint({ [method]: lie });
        const good = await Promise.all([endpoint(), endpoint()]);
        const urls = [bad, ...good].map(({ url }) => url);
        // The executor asks only two of the three endpoints, so it can miss the wrong answers. In
        // this case, the test tries again.
        let seen = await whatIsSeen(context, urls);
        for (let tries = 1; seen.reported.length === 0 && tries < 20; tries++) {
          seen = await whatIsSeen(context, urls);
        }
        const { reported, scoreOf, differs } = seen;
        assert.ok(reported.length > 0);
        for (const each of reported) assert.deepEqual(each, [`0:${bad.host}`, method]);
        // Each wrong answer adds 1 to the score. The score decays slowly, so it is still above 0.9
        // after some seconds.
        assert.ok(scoreOf(bad.host) > 0.9, `${scoreOf(bad.host)}`);
        assert.equal(differs.length, 1);
        assert.ok(differs[0]!.includes(`rpc="0:${bad.host}",method="${method}"`), differs[0]);
        for (const { host } of good) assert.equal(scoreOf(host), 0);
      },
    );
  }

  test("control: no endpoint is reported if all answers are correct", onlyLong, async (context) => {
    const good = await Promise.all([endpoint(), endpoint(), endpoint()]);
    const { reported, scoreOf, differs } = await whatIsSeen(
      context,
      good.map(({ url }) => url),
    );
    assert.deepEqual(
      [reported, differs, ...good.map(({ host }) => scoreOf(host))],
      [[], [], 0, 0, 0],
    );
  });

  test("is reported by `admin chains check` with each method that it answers wrongly", async () => {
    const liar = await endpoint({
      ...lies,
      eth_getBalance: { result: "0xff" },
      eth_getLogs: { result: [{ address: factoryAddress, topics: [], data: "0x" }] },
      eth_call: { result: "0x01" },
    });
    const good = await Promise.all([endpoint(), endpoint()]);
    const others = good.map(({ url }) => url);
    const lying = await check([liar.url, ...others]);
    const methods = ["eth_getCode", "eth_getBalance", "eth_getTransactionCount"];
    const differs = [...methods, "eth_getLogs", "eth_call"];
    const nothing = [[], []];
    assert.deepEqual(lying, { verdicts: [[differs, []], nothing, nothing], code: 1 });
    const error = { code: -32005, message: "too many requests" };
    const refusing = await endpoint({ eth_getLogs: { error } });
    const { verdicts, code } = await check([refusing.url, ...others]);
    assert.deepEqual(verdicts[0], [[], ["eth_getLogs: too many requests"]]);
    assert.equal(code, 1);
    assert.equal((await check(others)).code, 0);
  });
});
