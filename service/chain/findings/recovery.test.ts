import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "executable-address";
import { startLocalNode } from "../../../contracts/testing/local-node.ts";
import { type SimulatedWorld, startSimulated } from "../../testing/chain/simulated.ts";
import { openChainRpc } from "../rpc/chain-rpc.ts";
import { openChecks } from "./checks.ts";
import type { OtherChain } from "./recovery.ts";

let world: SimulatedWorld;
let second: OtherChain;
let stopSecond: () => Promise<void>;
const silent: OtherChain = { name: "Silent", rpc: openChainRpc(["http://127.0.0.1:9"]) };
/** Bytecode of a wallet: it could move tokens, and it accepts native coin. */
const walletCode = "0x00f4";
const accounts = { sender: `0x${"5e".repeat(20)}`, other: `0x${"5f".repeat(20)}` } as const;

before(async () => {
  world = await startSimulated();
  const node = await startLocalNode();
  stopSecond = async () => node.stop();
  second = { name: "Second", rpc: openChainRpc([node.rpcUrl]) };
});
after(async () => {
  await stopSecond();
  await world.stop();
});

async function doubtsOf(recovery: Hex, others: OtherChain[] = []) {
  const chain = { ...world.chainAt(world.rpcUrl), confirmations: 0, paymentConfirmations: 0 };
  const check = openChecks({ ...chain, others: () => others });
  const { findings, notes } = await check(await world.newRecord({ recovery }));
  const isOfRecovery = ({ path }: { path: readonly (string | number)[] }) => path[0] === "recovery";
  return { findings: findings.filter(isOfRecovery), notes: notes.filter(isOfRecovery) };
}
const codesOf = (list: readonly { code: string }[]) => list.map(({ code }) => code);

describe("recovery_looks_like_exchange", () => {
  test("is reported for an account with 10,000 transactions", async () => {
    await world.client.setNonce({ address: accounts.sender, nonce: 10_000 });
    const { findings } = await doubtsOf(accounts.sender);
    assert.deepEqual(codesOf(findings), ["recovery_looks_like_exchange"]);
    assert.match(findings[0]!.message, /has sent 10000 transactions/);
  });

  test("is not reported for an account with 9,999 transactions", async () => {
    await world.client.setNonce({ address: accounts.other, nonce: 9999 });
    assert.deepEqual((await doubtsOf(accounts.other)).findings, []);
  });
});

describe("recovery_without_code_on", () => {
  test("names the chain on which the contract is missing", async () => {
    const { findings, notes } = await doubtsOf(await world.withCode(walletCode), [second]);
    assert.deepEqual(codesOf(findings), ["recovery_without_code_on"]);
    assert.match(findings[0]!.message, /no code on Second: money/);
    assert.deepEqual(notes, []);
  });

  test("is not reported for a contract that exists on every checked chain", async () => {
    const same = { name: "Same", rpc: openChainRpc([world.rpcUrl]) };
    const { findings, notes } = await doubtsOf(await world.withCode(walletCode), [same]);
    assert.deepEqual([findings, notes], [[], []]);
  });

  test("is not reported for an account with a private key", async () => {
    assert.deepEqual((await doubtsOf(accounts.other, [second])).findings, []);
    const delegating = await world.withCode(`0xef0100${world.target.slice(2).toLowerCase()}`);
    const { findings } = await doubtsOf(delegating, [second]);
    assert.ok(!codesOf(findings).includes("recovery_without_code_on"));
  });

  test("is reported with the note `recovery_unmeasured` if one chain is unreachable", async () => {
    const { findings, notes } = await doubtsOf(await world.withCode(walletCode), [silent, second]);
    assert.deepEqual(codesOf(findings), ["recovery_without_code_on"]);
    assert.deepEqual(codesOf(notes), ["recovery_unmeasured"]);
    assert.match(notes[0]!.message, /^Silent did not respond/);
  });

  test("is replaced with the note `recovery_unmeasured` if a chain is silent for 2 s", async () => {
    const recovery = await world.withCode(walletCode);
    const slow = async (method: string, params: unknown[], ask: Ask) => {
      if (method === "eth_getCode") await sleep(4000);
      return ask(method, params);
    };
    await world.through(slow, async (url) => {
      const { findings, notes } = await doubtsOf(recovery, [
        { name: "Slow", rpc: openChainRpc([url]) },
      ]);
      assert.deepEqual([codesOf(findings), codesOf(notes)], [[], ["recovery_unmeasured"]]);
    });
  });

  test("is checked on at most 16 other chains", async () => {
    const many = Array.from({ length: 20 }, (_, index) => ({ ...second, name: `C${index + 1}.` }));
    const { findings } = await doubtsOf(await world.withCode(walletCode), many);
    assert.match(findings[0]!.message, /C16\./);
    assert.doesNotMatch(findings[0]!.message, /C17\./);
  });
});

type Ask = (method: string, params: unknown[]) => Promise<unknown>;
