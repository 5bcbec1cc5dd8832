// Finds out what an endpoint can do beyond the calls that every node answers: show old state, prove
// state, and run a call on state that the caller assumes. Proofs of outcomes, statuses of the past
// and simulations depend on these.

import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { numberToHex } from "viem/utils";
import type { Endpoint } from "./rpc/endpoint.ts";
import type { Call } from "./rpc/json-rpc.ts";

export type Abilities = {
  /** Of the depths tried, the greatest at which it shows state; null if it shows none. */
  archiveBlocks: number | null;
  /** It answers `eth_getProof`. */
  proves: boolean;
  /** It runs `eth_call` on state that the caller overrides. */
  overrides: boolean;
};

/** Nodes without an archive keep 128 blocks, or about a day of them. */
const depthsTried = [1_000_000, 100_000, 10_000, 1_000, 100];

/** Returns 1 as a word: PUSH1 1, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN. */
const returnsOne: Hex = "0x60015f5260205ff3";
const nobody: Hex = "0x00000000000000000000000000000000005eed01";

/** @param head its newest block; undefined if it did not answer */
export async function readAbilities(
  endpoint: Endpoint,
  head: number | undefined,
  address: Hex,
): Promise<Abilities> {
  const none = { archiveBlocks: null, proves: false, overrides: false };
  if (head === undefined) return none;
  const depths = depthsTried.filter((depth) => depth <= head);
  if (depths.length === 0) depths.push(head);
  const calls: Call[] = [
    { method: "eth_getProof", params: [address, [], "latest"] },
    { method: "eth_call", params: [{ to: nobody }, "latest", { [nobody]: { code: returnsOne } }] },
    ...depths.map((depth) => ({
      method: "eth_getBalance",
      params: [address, toQuantity(head - depth)],
    })),
  ];
  const answers = await endpoint.ask(calls).catch(() => undefined);
  if (!answers) return none;
  const [proof, run, ...old] = answers.map((answer) =>
    "result" in answer ? answer.result : undefined,
  );
  const shown = depths.find((_, index) => typeof old[index] === "string");
  return {
    archiveBlocks: shown ?? null,
    proves: Array.isArray((proof as { accountProof?: unknown } | null | undefined)?.accountProof),
    overrides: run === numberToHex(1, { size: 32 }),
  };
}
