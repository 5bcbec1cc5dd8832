// Runs all 16 tasks of docs/without-us.md, which do not need the service. The tests use the
// program's commands and three nodes. One of the nodes returns wrong data. Checks that no output
// contains this data.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { encodeFunctionData, erc20Abi } from "viem";
import { startWorld, type World } from "../../service/testing/chain/world.ts";
import { startProxy } from "../../service/testing/executor/rpc-proxy.ts";
import { toHex } from "../abi/hex.ts";
import { batchCalldata, executeCalldata, recoverCalldata } from "../calldata/calldata.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { runCommand } from "../test/command.ts";

const folder = mkdtempSync(join(tmpdir(), "without-us-"));
const payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const recovery = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const keyFile = join(folder, "key.json");
const tasks: string[] = [];

const run = (args: string[], env?: Record<string, string>) => runCommand(args, "", env);

/** The lying node's wrong results by JSON-RPC method, in the same format as true results. */
const lies: Record<string, (result: never) => unknown> = {
  eth_getCode: () => "0x336f18602857",
  eth_getBalance: () => "0xffffffff",
  eth_call: () => `0x${"00".repeat(30)}ffff`,
  eth_getLogs: () => [],
  eth_getProof: () => ({ accountProof: ["0xc0"] }),
  eth_getBlockByNumber: (block: object) => ({ ...block, hash: `0x${"ab".repeat(32)}` }),
  eth_getBlockByHash: (block: object) => ({ ...block, stateRoot: `0x${"ab".repeat(32)}` }),
  eth_getTransactionByHash: (found: { input: string } | null) =>
    found && { ...found, input: found.input.replace(/.$/, "1") },
  eth_getTransactionReceipt: (found: object | null) => ({ ...found, status: "0x0" }),
  eth_blockNumber: () => "0xffffff",
  eth_getTransactionCount: () => "0x7777",
  eth_gasPrice: () => "0xffffffffffff",
  eth_estimateGas: () => "0x5208",
  eth_sendTransaction: () => `0x${"ab".repeat(32)}`,
  eth_sendRawTransaction: () => `0x${"ab".repeat(32)}`,
};

/**
 * Skips the second between two polls for a receipt. Commands poll for three minutes.
 * @returns a function that moves the monotonic clock forward
 */
function skipSeconds(t: TestContext) {
  const wait = setTimeout;
  const now = performance.now.bind(performance);
  let skippedMs = 0;
  t.mock.method(performance, "now", () => now() + skippedMs);
  t.mock.method(
    globalThis,
    "setTimeout",
    (next: (given: unknown) => void, ms: number, given: unknown) => {
      if (ms === 1_000) skippedMs += ms;
      return wait(() => next(given), ms === 1_000 ? 0 : ms);
    },
  );
  return (ms: number) => {
    skippedMs += ms;
  };
}

/** The methods for which the lying node currently returns wrong results. */
let lying = new Set(Object.keys(lies));

describe("the command line with two honest nodes, a lying node, and no service", () => {
  let world: World;
  let liar: Awaited<ReturnType<typeof startProxy>>;
  let others: Awaited<ReturnType<typeof startProxy>>[];
  const records: Record<string, AddressRecord> = {};
  const send = async (to: Hex, data: Uint8Array) => {
    const hash = await world.client.sendTransaction({ to, data: toHex(data), gas: 3_000_000n });
    return world.client.waitForTransactionReceipt({ hash });
  };
  let [executed, batch, recovered]: Hex[] = [];

  before(async () => {
    writeFileSync(keyFile, JSON.stringify(keystore));
    world = await startWorld();
    await world.payNative(keystoreAccount, 10n ** 18n);
    liar = await startProxy(world.rpcUrl, ({ method }, answer) => {
      const lie = lying.has(method) && lies[method];
      return lie ? { ...answer, result: lie(answer.result as never) } : answer;
    });
    others = await Promise.all([1, 2].map(() => startProxy(world.rpcUrl)));
    for (const name of ["open", "paid", "told", "signed", "done", "two", "three"])
      records[name] = await world.newRecord();
    const late = { expirationTimestamp: Number((await world.client.getBlock()).timestamp) + 900 };
    records.late = await world.newRecord(late);
    for (const name of ["paid", "told", "signed", "done", "two", "three", "late"])
      await world.pay(records[name]!.address, 130n);
    executed = (await world.execute(records.done!)).transactionHash;
    const items = ["two", "three"].map((name) => executeCalldata(records[name]!.terms));
    const factory = records.done!.factory;
    batch = (await send(factory, batchCalldata(items))).transactionHash;
    const recoveryCall = recoverCalldata(records.two!.terms, [records.two!.intent.token]);
    recovered = (await send(factory, recoveryCall)).transactionHash;
    await world.mine(2);
  });
  after(async () => {
    liar.stop();
    for (const other of others) other.stop();
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  /** Returns the options for the three nodes, with the lying node first, second, or last. */
  const nodes = (place: number) => {
    const urls = others.map(({ url }) => url);
    urls.splice(place, 0, liar.url);
    return urls.flatMap((url) => ["--rpc", url]);
  };
  const text = (name: string) => JSON.stringify(records[name]);
  const task = (name: string, run: () => Promise<void>) => {
    tasks.push(name);
    test(name, run);
  };
  const good = async (args: string[], env?: Record<string, string>) => {
    const { status, out, err } = await run(args, env);
    assert.equal(status, 0, err);
    return JSON.parse(out);
  };
  const isLong = process.env.TESTS === "long";
  let turns = 0;
  /**
   * With TESTS=long, runs each command three times, with the lying node at each position.
   * Otherwise, runs each command once. The lying node's position changes after each command.
   */
  const everywhere = async (args: string[], check: (found: never) => void) => {
    for (const place of isLong ? [0, 1, 2] : [turns++ % 3])
      check((await good([...args, ...nodes(place)])) as never);
  };
  const addressesIn = (found: AddressRecord[]) => found.map(({ address }) => address);
  const sameAs = (...names: string[]) => {
    const wanted = names.map((name) => records[name]!.address);
    return (found: AddressRecord[]) => assert.deepEqual(addressesIn(found), wanted);
  };

  task("derive the record of an intent", async () => {
    const { intent } = records.done!;
    assert.deepEqual(await good(["derive", JSON.stringify(intent)]), records.done);
  });
  task("verify a record", async () => {
    assert.deepEqual(await good(["verify", text("done")]), records.done);
    const { status } = await run(["verify", text("done").replace('"100"', '"101"')]);
    assert.equal(status, 1);
  });
  task("decode terms into an intent", async () => {
    assert.deepEqual(await good(["decode", records.done!.terms]), records.done!.intent);
  });
  task("find the records in calldata", async () => {
    const items = ["two", "three"].map((name) => executeCalldata(records[name]!.terms));
    sameAs("two", "three")(await good(["execution", toHex(batchCalldata(items))]));
  });
  task("rebuild a record from the transaction of its execution", () =>
    everywhere(["rebuild", "--tx", executed!], sameAs("done")),
  );
  task("rebuild the records from the transaction of a batch", () =>
    everywhere(["rebuild", "--tx", batch!], sameAs("two", "three")),
  );
  task("rebuild a record from the transaction of its recovery", () =>
    everywhere(["rebuild", "--tx", recovered!], sameAs("two")),
  );
  task("read the status of a record", async () => {
    const states = { open: "unfunded", paid: "funded", done: "executed", two: "executed" };
    for (const [name, wanted] of Object.entries(states))
      await everywhere(["status", text(name)], ({ state }: { state: string }) =>
        assert.equal(state, wanted),
      );
  });
  task("read the status of one item of a batch from its transaction", async () => {
    await everywhere(
      ["status", batch!, "--address", records.three!.address],
      ({ state, recoverable }: { state: string; recoverable: object[] }) =>
        assert.deepEqual([state, recoverable.length], ["executed", 1]),
    );
    const { status, err } = await run(["status", batch!, ...nodes(0)]);
    assert.equal(status, 1);
    assert.match(err, /found 0x\w+, 0x\w+; choose one with --address/);
  });
  task("prove the outcome, and save the proof as a receipt", async () => {
    await everywhere(["prove", text("done")], (receipt: { proof: { outcome: string } }) => {
      assert.equal(receipt.proof.outcome, "executed");
      writeFileSync(join(folder, "receipt.json"), JSON.stringify(receipt));
    });
  });
  task("verify a receipt with nodes, and reject a changed receipt with a reason", async () => {
    const file = join(folder, "receipt.json");
    await everywhere(["verify", file], ({ outcome }: { outcome: string }) =>
      assert.equal(outcome, "executed"),
    );
    const tampered = readFileSync(file, "utf8").replace('"held":"130"', '"held":"131"');
    const { status, err } = await run(["verify", tampered, ...nodes(0)]);
    assert.equal(status, 1);
    assert.match(err, /execution\.held: expected the proven value "\d+", found a different value/);
  });
  task("verify a receipt without nodes, and print the blocks to compare", async () => {
    const { status, out, err } = await run(["verify", join(folder, "receipt.json")]);
    const { compare } = JSON.parse(out);
    assert.deepEqual([status, compare.length], [0, 3]);
    assert.match(err, /it is proven only if each block in `compare` belongs/);
  });
  test("`execute` and `recover` exit with 1 for an address in the wrong state", async () => {
    const refusals: [command: string, name: string, RegExp][] = [
      ["execute", "open", /^0x\w+ is unfunded: only a funded address can be executed$/m],
      ["execute", "done", /^0x\w+ is executed: only a funded address can be executed$/m],
      ["recover", "signed", /is funded: recover is possible only after the execution or the exp/],
      ["recover", "two", /^0x\w+ is executed: there is no balance to recover$/m],
    ];
    for (const [command, name, sentence] of refusals) {
      const { status, err } = await run([command, text(name), "--from", payer, ...nodes(0)]);
      assert.equal(status, 1);
      assert.match(err, sentence);
    }
  });
  task("execute through a node that has the key, after a preview", async () => {
    const from = ["--from", payer];
    const dry = await run(["execute", text("paid"), "--dry-run", ...nodes(0)]);
    assert.equal(JSON.parse(dry.out).sent, false);
    assert.match(dry.err, /^execute 0x\w+ on chain 31337: funded, balance 130 of /);
    const misuses: [string[], RegExp][] = [
      [["execute", text("paid")], /missing --keystore or --from/],
      [["rescue", text("done"), ...from], /rescue needs --target ADDRESS, and --value must be/],
    ];
    for (const [args, sentence] of misuses) {
      const { status, err } = await run([...args, ...nodes(0)]);
      assert.equal(status, 2, err);
      assert.match(err, sentence);
    }
    assert.equal((await run(["execute", text("open"), ...from, ...nodes(0)])).status, 1);
    const { state } = await good(["execute", text("paid"), ...from, ...nodes(2)]);
    assert.equal(state, "executed");
  });
  test("`execute` exits with 1 if the sending node returns a wrong transaction hash", async () => {
    const nonce = () => world.client.getTransactionCount({ address: payer });
    const before = await nonce();
    const { status, err } = await run(["execute", text("told"), "--from", payer, ...nodes(0)]);
    assert.equal(status, 1);
    assert.match(
      err,
      /sent 0xabab\w+\n.*after 15 s, expected 2 of 3 nodes to have it, found 0; check the status/,
    );
    assert.equal(await nonce(), before + 1);
    assert.equal((await good(["status", text("told"), ...nodes(1)])).state, "executed");
  });
  test("`execute` exits with 1 if the receipt says that the transaction failed", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 130n);
    const all = lying;
    lying = new Set(["eth_getTransactionReceipt"]);
    const args = ["execute", JSON.stringify(record), "--from", payer, "--rpc", liar.url];
    const { status, err } = await run(args);
    lying = all;
    assert.equal(status, 1);
    assert.match(
      err,
      /transaction 0x[0-9a-f]{64}: expected the receipt status 1 \(success\), found 0/,
    );
  });
  test("`recover` exits with 1 if the nodes return different balances", async () => {
    const other = await startProxy(world.rpcUrl, ({ method, params }, answer) =>
      method === "eth_getBalance" && params[1] === "latest" ? { ...answer, result: "0x5" } : answer,
    );
    const token = ["--token", "0x0000000000000000000000000000000000000000", "--dry-run"];
    const args = ["recover", text("done"), ...token, "--rpc", others[0]!.url, "--rpc", other.url];
    const { status, err } = await run(args);
    other.stop();
    assert.equal(status, 1);
    assert.match(
      err,
      /^eth_getBalance .*"latest"\]: expected 2 of 2 nodes to give the same answer/,
    );
    assert.match(err, /same answer, found rpcs\[0\]: "0", rpcs\[1\]: "5"/);
  });
  test("`execute` exits with 1 if the nodes return different receipts", async (t) => {
    const record = await world.newRecord();
    await world.pay(record.address, 130n);
    const other = await startProxy(world.rpcUrl, ({ method }, answer) =>
      method === "eth_getTransactionReceipt"
        ? { ...answer, result: { ...(answer.result as object), status: "0x0" } }
        : answer,
    );
    const args = ["execute", JSON.stringify(record), "--from", payer];
    skipSeconds(t);
    const { status, err } = await run([...args, "--rpc", others[0]!.url, "--rpc", other.url]);
    other.stop();
    assert.equal(status, 1);
    assert.match(
      err,
      /0x\w+: expected 2 of 2 nodes to return the same receipt within 180 s, found/,
    );
    assert.match(
      err,
      /rpcs\[0\]: status 0x1 in block 0x\w+, rpcs\[1\]: status 0x0 in block 0x\w+;/,
    );
  });
  test("`execute` stops after 180 s if the nodes are slow, and shows their errors", async (t) => {
    const record = await world.newRecord();
    await world.pay(record.address, 130n);
    const skip = skipSeconds(t);
    let requests = 0;
    const slow = await startProxy(world.rpcUrl, ({ method }, answer) => {
      if (method !== "eth_getTransactionReceipt") return answer;
      requests++;
      skip(60_000);
      return { ...answer, result: undefined, error: { code: -32_000, message: "no index" } };
    });
    const args = ["execute", JSON.stringify(record), "--from", payer];
    const { status, err } = await run([...args, "--rpc", others[0]!.url, "--rpc", slow.url]);
    slow.stop();
    assert.equal(status, 1);
    assert.match(err, /within 180 s, found rpcs\[0\]: status 0x1 .*, rpcs\[1\]: .*no index;/);
    assert.equal(requests, 3);
  });
  task("execute with a keystore", async () => {
    const env = { EXECUTABLE_ADDRESS_PASSWORD: "testpassword" };
    const args = ["execute", records.signed!.terms, "--keystore", keyFile, ...nodes(1)];
    const wrong = await run(args, { EXECUTABLE_ADDRESS_PASSWORD: "another" });
    assert.match(
      wrong.err,
      /keystore: EXECUTABLE_ADDRESS_PASSWORD is not the password of this file/,
    );
    assert.equal((await good(args, env)).state, "executed");
  });
  task("recover the remaining money", async () => {
    const { status } = await good(["recover", executed!, "--from", payer, ...nodes(2)]);
    assert.deepEqual(status.recoverable, []);
    assert.equal(status.recoveries.length, 1);
  });
  test("`recover` accepts a token's address or the transaction that sent the token", async () => {
    for (const name of ["token", "transaction"]) {
      const token = await world.newToken();
      const { transactionHash } = await world.pay(records.done!.address, 77n, token);
      const subject = [text("done"), "--from", payer];
      const other = await run(["recover", ...subject, "--transaction", executed!, ...nodes(1)]);
      assert.equal(other.status, 1);
      assert.match(
        other.err,
        /expected a transfer to 0x\w+ on this chain, found none|to give the same answer/,
      );
      const by = ["--token", token, "--transaction", transactionHash];
      const args = [...subject, ...(name === "token" ? by.slice(0, 2) : by.slice(2))];
      const dry = await run(["recover", ...args, "--dry-run", ...nodes(0)]);
      assert.equal(dry.status, 0, dry.err);
      assert.match(dry.err, new RegExp(`balance 77 of ${token}`, "i"));
      const { status } = await good(["recover", ...args, ...nodes(1)]);
      const last = status.recoveries.at(-1);
      assert.deepEqual([last.token, last.amount], [token, "77"]);
      const again = await run(["recover", ...args, ...nodes(2)]);
      assert.equal(again.status, 1);
      assert.match(again.err, /the address has no balance of 0x\w+/);
    }
  });
  task("rescue money that `recover` cannot move, from the recovery address", async () => {
    const { token, chainId } = records.two!.intent;
    await world.pay(records.two!.address, 50n);
    assert.equal(chainId, 31_337);
    const data = encodeFunctionData({
      abi: erc20Abi,
      functionName: "transfer",
      args: [payer, 20n],
    });
    const call = ["--target", token, "--data", data, "--from", recovery];
    const { status } = await good(["rescue", text("two"), ...call, ...nodes(2)]);
    assert.equal(status.balance, "30");
  });

  describe("signing commands", () => {
    const all = Object.keys(lies);
    // With TESTS=long, each kind of wrong value is tested separately. Without TESTS=long, the lying
    // node uses all kinds of wrong values in the same run.
    const kindsOf = (kinds: string[]) => (isLong ? kinds.map((kind) => [kind]) : [kinds]);
    after(() => {
      lying = new Set(all);
    });

    /**
     * Executes the calls of an address, recovers the remaining money, and rescues money that
     * arrives later.
     */
    async function sendAll(by: { args: string[]; env: Record<string, string>; account: Hex }) {
      const record = await world.newRecord({ recovery: by.account });
      await world.pay(record.address, 130n);
      const subject = [JSON.stringify(record), ...by.args];
      assert.equal((await good(["execute", ...subject], by.env)).state, "executed");
      const recovered = await good(["recover", ...subject], by.env);
      assert.deepEqual(recovered.status.recoverable, []);
      await world.pay(record.address, 50n);
      const transfer = { abi: erc20Abi, functionName: "transfer", args: [payer, 20n] } as const;
      const call = ["--target", record.intent.token, "--data", encodeFunctionData(transfer)];
      const rescued = await good(["rescue", ...subject, ...call], by.env);
      assert.equal(rescued.status.balance, "30");
    }

    test("`execute`, `recover`, and `rescue` succeed with a keystore", async () => {
      const env = { EXECUTABLE_ADDRESS_PASSWORD: "testpassword" };
      for (const kind of kindsOf(all))
        for (const place of [0, 1, 2]) {
          lying = new Set(kind);
          const args = ["--keystore", keyFile, ...nodes(place)];
          await sendAll({ args, env, account: keystoreAccount });
        }
    });

    test("`execute`, `recover`, and `rescue` succeed if a node has the key", async () => {
      for (const kind of kindsOf(all.filter((method) => method !== "eth_sendTransaction")))
        for (const place of [0, 1, 2]) {
          lying = new Set(kind);
          await sendAll({ args: ["--from", payer, ...nodes(place)], env: {}, account: payer });
        }
    });
  });

  test("docs/without-us.md lists exactly the 16 tasks that these tests perform", () => {
    const page = readFileSync(new URL("../../docs/without-us.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| ([0-9]+) \| (.*?) \|/gm)].map(([, , name]) => name);
    assert.deepEqual(rows, tasks);
    assert.equal(rows.length, 16);
  });
});

const keystoreAccount: Hex = "0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b";

/** The test vector in the description of the keystore format: password `testpassword`. */
const keystore = {
  crypto: {
    cipher: "aes-128-ctr",
    cipherparams: { iv: "6087dab2f9fdbbfaddc31a909735c1e6" },
    ciphertext: "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
    kdf: "pbkdf2",
    kdfparams: {
      c: 262144,
      dklen: 32,
      prf: "hmac-sha256",
      salt: "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
    },
    mac: "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
  },
  version: 3,
};
