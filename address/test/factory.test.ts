// Compares the library's addresses with the deployed contract's, for hundreds of intents. With
// TESTS=long, compares the addresses of thousands of intents.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  deterministicDeployer,
  factoryCreationCode,
  factorySalt,
  paymentFactoryAbi,
} from "executable-address-contracts";
import { type Anvil, startAnvil } from "executable-address-contracts/anvil";
import fc from "fast-check";
import { concatHex, encodeFunctionData, toFunctionSelector } from "viem";
import { isLong } from "../../scripts/long.ts";
import { factoryAddress, type Hex, makeRecord } from "../index.ts";
import { intents } from "./intents.ts";

const intentsCount = isLong ? 2000 : 400;
const batchSize = 100;
const seed = 20260102;

describe("PaymentFactory.addressOf", () => {
  let anvil: Anvil;
  before(async () => {
    anvil = await startAnvil();
    const [sender] = (await rpc(anvil, [["eth_accounts", []]]))[0] as [Hex];
    const data = concatHex([factorySalt, factoryCreationCode]);
    const deployment = { from: sender, to: deterministicDeployer.address, data };
    await rpc(anvil, [["eth_sendTransaction", [deployment]]]);
  });
  after(() => anvil.stop());

  test("addressOf returns the same address as makeRecord", async () => {
    const drawn = fc.sample(intents, { numRuns: intentsCount, seed });
    const records = drawn.map(({ intent }) => makeRecord(intent));
    for (let start = 0; start < records.length; start += batchSize) {
      const batch = records.slice(start, start + batchSize);
      const byTerms = await rpc(
        anvil,
        batch.map(({ terms }) => callOf(termsCalldata(terms))),
      );
      const byIntent = await rpc(
        anvil,
        batch.map(({ terms }) => callOf(intentCalldata(terms))),
      );
      const wanted = batch.map(
        ({ address }) => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`,
      );
      assert.deepEqual(byTerms, wanted);
      assert.deepEqual(byIntent, wanted);
    }
  });
});

type Request = [method: string, params: unknown[]];

const callOf = (data: Hex): Request => ["eth_call", [{ to: factoryAddress, data }, "latest"]];

const termsCalldata = (terms: Hex): Hex =>
  encodeFunctionData({ abi: paymentFactoryAbi, functionName: "addressOf", args: [terms] });

/**
 * Encodes calldata for `addressOf`. The terms are the ABI encoding of the function's only argument,
 * the intent.
 */
const intentCalldata = (terms: Hex): Hex => concatHex([addressOfIntent, terms]);

const addressOfIntent = toFunctionSelector(
  "addressOf((address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256))",
);

/** Sends one batch of JSON-RPC and returns the results in order. */
async function rpc({ rpcUrl }: Anvil, requests: Request[]): Promise<unknown[]> {
  const body = requests.map(([method, params], id) => ({ jsonrpc: "2.0", id, method, params }));
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(rpcUrl, { method: "POST", headers, body: JSON.stringify(body) });
  const answers = (await response.json()) as { id: number; result?: unknown; error?: unknown }[];
  return answers
    .sort((a, b) => a.id - b.id)
    .map(({ result, error }) => {
      assert.equal(error, undefined, JSON.stringify(error));
      return result;
    });
}
