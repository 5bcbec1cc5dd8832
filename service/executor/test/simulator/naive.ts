// A simple executor that tests the simulator. It asks one endpoint and keeps its state in memory.
// If a transaction has no receipt after 40 s, the executor tries again. The simulator must find the
// mistakes of this executor. In the same simulations, the real executor makes no mistakes.

import {
  encodeBalanceOf,
  executeCalldata,
  type Hex,
  recoverCalldata,
  toHex,
} from "executable-address";
import { keccak256 } from "viem";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import { quantity, resultOf } from "../../../chain/rpc/json-rpc.ts";
import { encodeRaw } from "./chain-model.ts";
import type { VaultModel } from "./factory-model.ts";
import type { Random, Scheduler } from "./scheduler.ts";
import { chainId, factory, sender, type World } from "./world.ts";

const pollMs = 9000;
const patienceMs = 40_000;

/** @param crashRate the probability of a crash in each poll of the executor */
export function keepRunningNaively(
  world: World,
  rpc: Endpoint,
  scheduler: Scheduler,
  random: Random,
  crashRate: () => number,
): void {
  let done = new Set<Hex>();
  let cursor: number | undefined;
  const seen = new Set<Hex>();

  const ask: Ask = async (method, ...params) =>
    resultOf((await rpc.ask([{ method, params }]))[0], method);

  const attend = async (vault: VaultModel, now: number) => {
    const { address, terms, token } = vault;
    const call = { to: token, data: encodeBalanceOf(address) };
    const held = BigInt((await ask("eth_call", call, "latest")) as Hex);
    if (held === 0n || done.has(address)) return;
    const isOver = now > vault.expirationSeconds || vault.chainId !== chainId;
    if (!isOver && held < vault.amount) return;
    const data = toHex(isOver ? recoverCalldata(terms, [token]) : executeCalldata(terms));
    await ask("eth_estimateGas", { from: sender, to: factory, data }, "latest");
    if (await send(data, ask, scheduler)) done.add(address);
  };

  const pass = async () => {
    const head = (await ask("eth_getBlockByNumber", "latest", false)) as Record<string, Hex>;
    const number = Number(head.number);
    const range = { fromBlock: `0x${(cursor ?? number).toString(16)}`, toBlock: head.number };
    const logs = (await ask("eth_getLogs", range)) as { topics: Hex[] }[];
    for (const { topics } of logs) seen.add(`0x${topics[2]!.slice(26)}`);
    cursor = number + 1;
    for (const vault of world.vaults.filter(({ address }) => seen.has(address))) {
      await attend(vault, Number(head.timestamp)).catch(() => {});
    }
  };

  const loop = async () => {
    for (;;) {
      await pass().catch(() => {});
      if (random() < crashRate()) {
        done = new Set();
        seen.clear();
        cursor = undefined;
      }
      await scheduler.sleep(pollMs);
    }
  };
  loop();
}

type Ask = (method: string, ...params: unknown[]) => Promise<unknown>;

/**
 * Sends a transaction.
 *
 * @returns whether the endpoint accepted it in time
 */
async function send(data: Hex, ask: Ask, scheduler: Scheduler): Promise<boolean> {
  const nonce = Number(quantity(await ask("eth_getTransactionCount", sender, "latest")));
  const fees = { maxFee: 40n, priorityFee: 2n };
  const raw = encodeRaw({
    from: sender,
    chainId,
    nonce,
    to: factory,
    data,
    gas: 500_000,
    ...fees,
  });
  await ask("eth_sendRawTransaction", raw);
  const deadline = scheduler.now() + patienceMs;
  while (scheduler.now() < deadline) {
    const receipt = await ask("eth_getTransactionReceipt", keccak256(raw));
    if (receipt) return (receipt as { status: Hex }).status === "0x1";
    await scheduler.sleep(pollMs);
  }
  return false;
}
