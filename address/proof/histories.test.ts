// Proves the outcomes of vaults with different histories, from the blocks of a real node.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { payer, startWorld, type World } from "../../service/testing/chain/world.ts";
import { zeroAddress } from "../abi/token.ts";
import { encodeExecution, factoryAddress, fromHex, toHex } from "../index.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { keccak256 } from "../keccak/keccak.ts";
import { httpRpc, type Rpc } from "../status/status.ts";
import {
  askEvents,
  type ProofError,
  proveAddress,
  proveExecution,
  readAgreed,
  rebuild,
  verifyAddressProof,
} from "./proof.ts";
import { vaultCodes } from "./vault-code.ts";

for (const hardfork of ["prague", "osaka"] as const) {
  describe(`proofs of a vault's history, on a chain with the hardfork ${hardfork}`, () => {
    let world: World;
    before(async () => {
      world = await startWorld(undefined, hardfork);
    });
    after(() => world.stop());

    const prove = async (record: AddressRecord, confirmations = 0) => {
      const rpcs = [world.rpcUrl];
      const { proof, agreed } = await proveAddress(record, { rpcs, confirmations });
      const trusted = [agreed.hash, proof.execution?.block.hash ?? agreed.hash].map((hash) => ({
        chainId: record.intent.chainId,
        hash,
      }));
      const found = verifyAddressProof(record, JSON.parse(JSON.stringify(proof)), trusted);
      const { number } = await world.client.getBlock({ blockHash: found.block.hash });
      assert.equal(Number(number), found.block.number);
      return found;
    };
    const expire = async ({ intent }: AddressRecord) => {
      const { timestamp } = await world.client.getBlock();
      const past = Math.max(intent.expirationTimestamp, Number(timestamp)) + 1;
      await world.mineAt(past);
    };

    test("a record for another chain cannot be proved", async () => {
      const record = await world.newRecord({ chainId: 10 });
      const rpcs = [world.rpcUrl];
      await assert.rejects(proveAddress(record, { rpcs }), { code: "no_quorum" });
      const home = await proveAddress(await world.newRecord(), { rpcs });
      const block = { chainId: 31_337, hash: home.agreed.hash };
      assert.throws(() => verifyAddressProof(record, home.proof, [block]), {
        code: "wrong_chain",
      });
    });

    test("rebuild throws if the transaction is unknown or calls another contract", async () => {
      const rpcs = [world.rpcUrl];
      const { transactionHash } = await world.pay((await world.newRecord()).address, 1n);
      const wanted = `expected a call of the factory ${factoryAddress.toLowerCase()}`;
      const to = world.token.toLowerCase();
      await assert.rejects(rebuild(transactionHash, { rpcs }), {
        ...{ code: "unproved", message: `${transactionHash}: ${wanted}, found ${to}` },
      });
      const unknown: Hex = `0x${"12".repeat(32)}`;
      await assert.rejects(rebuild(unknown, { rpcs }), {
        ...{ code: "unproved", message: `the node has no transaction ${unknown}` },
      });
    });

    test("the outcome is `open` for an unused or underpaid vault", async () => {
      const record = await world.newRecord();
      assert.equal((await prove(record)).outcome, "open");
      await world.payNative(record.address, 5n);
      assert.equal((await prove(record)).outcome, "open");
      await world.pay(record.address, 99n);
      assert.equal((await prove(record)).outcome, "open");
    });

    test("the outcome is `never` after the expiry and `closed` after a recovery", async () => {
      const record = await world.newRecord();
      await world.payNative(record.address, 5n);
      await expire(record);
      assert.equal((await prove(record)).outcome, "never");
      await world.recover(record, [zeroAddress]);
      assert.equal((await prove(record)).outcome, "closed");
      const code = await world.client.getCode({ address: record.address });
      const { closed } = vaultCodes(record.factory);
      assert.deepEqual(fromHex(code), closed);
    });

    test("later payments and recoveries do not change a proved execution", async () => {
      const record = await world.newRecord();
      await world.pay(record.address, 130n);
      const { transactionHash, blockNumber } = await world.execute(record);
      const code = await world.client.getCode({ address: record.address });
      assert.deepEqual(keccak256(fromHex(code)), keccak256(vaultCodes(record.factory).executed));
      const check = async (confirmations: number) => {
        const { outcome, execution } = await prove(record, confirmations);
        assert.equal(outcome, "executed");
        assert.equal(execution?.transactionHash, transactionHash);
        assert.deepEqual([execution.held, execution.left], ["130", "30"]);
        assert.equal(execution.block.number, Number(blockNumber));
      };
      await check(0);
      await world.pay(record.address, 7n);
      await world.recover(record, [world.token]);
      await expire(record);
      await check(2);
    });

    test("an execution can be proved in a block with 140 transactions", async () => {
      const record = await world.newRecord();
      await world.pay(record.address, 100n);
      const { client } = world;
      const start = await client.getTransactionCount({ address: payer });
      await client.setAutomine(false);
      const to = record.intent.recovery;
      const [gasPrice, maxFeePerGas] = [10n ** 10n, 10n ** 10n];
      const prices = [
        { gasPrice },
        { gasPrice, accessList: [{ address: to, storageKeys: [toHex(new Uint8Array(32))] }] },
        { maxFeePerGas, maxPriorityFeePerGas: maxFeePerGas },
      ];
      for (let i = 0; i < 140; i++) {
        const call =
          i === 20 ? { to: record.factory, data: toHex(encodeExecution(record.intent)) } : { to };
        const kind = prices[i % 3] as { gasPrice: bigint };
        await client.sendTransaction({ ...call, ...kind, nonce: start + i, gas: 200_000n });
      }
      await world.mine(1);
      await client.setAutomine(true);
      assert.equal((await client.getBlock()).transactions.length, 140);
      const { execution } = await prove(record);
      assert.equal(execution?.held, "100");
    });

    test("a proof is invalid after a reorganization removed the execution", async () => {
      const record = await world.newRecord();
      await world.pay(record.address, 100n);
      await world.mine(3);
      await world.execute(record);
      const rpcs = [world.rpcUrl];
      const old = await proveAddress(record, { rpcs });
      await world.reorg(2);
      assert.equal((await prove(record)).outcome, "open");
      const { agreed } = await proveAddress(record, { rpcs });
      assert.throws(
        () => verifyAddressProof(record, old.proof, [agreed]),
        ({ code }: ProofError) => code === "invalid_proof",
      );
    });

    test("proveAddress throws if a node returns no proof or a wrong one", async () => {
      const record = await world.newRecord();
      const node = httpRpc(world.rpcUrl);
      const without = (method: string, answer: unknown) => [
        async (asked: string, params: readonly unknown[]) =>
          asked === method ? answer : node(asked, params),
      ];
      for (const answer of [null, {}, { accountProof: [] }, { accountProof: ["0x80"] }]) {
        const rpcs = without("eth_getProof", answer);
        await assert.rejects(proveAddress(record, { rpcs }), { code: "unproved" });
      }
      const rpcs = without("eth_getBlockByHash", await node("eth_getBlockByNumber", ["0x1", true]));
      await assert.rejects(proveAddress(record, { rpcs }), { code: "unproved" });
    });

    test("askEvents throws if the transaction is missing or has another hash", async () => {
      const record = await world.newRecord();
      await world.pay(record.address, 100n);
      const { transactionHash, blockHash } = await world.execute(record);
      const node = httpRpc(world.rpcUrl);
      const ofKindUnknown: Rpc = async (method, params) => {
        if (method === "eth_getRawTransactionByHash") return "0x7d";
        const answer = (await node(method, params)) as { transactions: object[] };
        if (method !== "eth_getBlockByHash") return answer;
        const transactions = answer.transactions.map((each) => ({ ...each, type: "0x7d" }));
        return { ...answer, transactions };
      };
      const otherHash = toHex(keccak256(Uint8Array.of(0x7d)));
      const { parentHash } = await world.client.getBlock({ blockHash });
      for (const [rpc, block, message] of [
        [
          node,
          parentHash,
          `block ${parentHash}: expected the transaction ${transactionHash}, found none`,
        ],
        [
          ofKindUnknown,
          blockHash,
          `transaction ${transactionHash}: expected bytes with this hash, found ${otherHash}`,
        ],
      ] as const)
        await assert.rejects(
          askEvents(rpc, record, { blockHash: block, transactionHash }, proveExecution),
          { code: "unproved", message },
        );
    });

    test("readAgreed throws if only one of two nodes responds", async () => {
      const record = await world.newRecord();
      const hash = (await world.client.getBlock()).hash;
      const silent: Rpc = async () => Promise.reject(new Error("is down"));
      const wanted = `2 of 2 endpoints to return the same status of ${record.address}`;
      const found = "rpcs[0]: unfunded with balance 0, rpcs[1]: is down";
      await assert.rejects(readAgreed(record, { hash }, { rpcs: [world.rpcUrl, silent] }), {
        code: "no_quorum",
        message: `expected ${wanted} at block ${hash}, found ${found}`,
      });
    });
  });
}
