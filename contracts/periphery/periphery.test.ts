// Tests the small contracts of periphery/ on a real chain. The test deploys the contracts in the
// same way as `admin chain bring`. Measures the gas that each contract adds to an intent. Checks
// that OutcomeProof rejects a proof with a changed byte.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  type Address,
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  fromRlp,
  type Hex,
  keccak256,
  numberToHex,
  parseAbi,
  parseAbiParameters,
  size,
  slice,
  stringToHex,
  toBytes,
  toHex,
  toRlp,
  zeroHash,
} from "viem";
import { type Json, listHeaders } from "../../address/proof/build/fields.ts";
import { proveInTrie } from "../../address/proof/trie.ts";
import { readArtifact, runForge } from "../build.ts";
import { deployFactory, deployOnce } from "../deploy.ts";
import { demoToken, factoryAddress, periphery } from "../index.ts";
import committed from "../snapshots/gas-periphery.json" with { type: "json" };
import {
  addressOf,
  type CallTerms,
  type IntentTerms,
  openChain,
  toFactory,
} from "../testing/local-chain.ts";

const chain = await openChain();
after(() => chain.anvil.stop());
const { client, send } = chain;
await deployFactory(client);
const { collector, ...others } = periphery;
for (const { bytecode } of Object.values(others)) await deployOnce(client, bytecode);
const token = await chain.deploy(demoToken.abi, demoToken.bytecode, ["Demo", "DEMO", 6]);
await deployOnce(client, collector.bytecode);
const { conditions, guards, outcomeProof } = periphery;

const recovery = "0x00000000000000000000000000000000000c0ffe";
const merchant = "0x00000000000000000000000000000000beef0001";
const amount = 1_000_000n;
let salt = 0n;

const call = (target: Address, signature: string, types: string, values: unknown[]): CallTerms => ({
  target,
  signature,
  names: ["a0", "a0,a1", "a0,a1,a2"][types.split(",").length - 1]!,
  args: encodeAbiParameters(parseAbiParameters(types), values),
});
const approval = call(token, "approve(address,uint256)", "address,uint256", [
  collector.address,
  amount + 1n,
]);
const collection: CallTerms = {
  target: collector.address,
  signature: "collect(address,address,uint256,uint256)",
  names: "token,recipient,least,most",
  args: encodeAbiParameters(parseAbiParameters("address,address,uint256,uint256"), [
    ...([token, merchant, amount, amount + 1n] as const),
  ]),
};
const transfer = call(token, "transfer(address,uint256)", "address,uint256", [merchant, amount]);
const mint = (to: Address, value: bigint) =>
  send(token, encodeFunctionData({ ...demoToken, functionName: "mint", args: [to, value] }));

/** Uses the same terms in each run, so the vaults' positions in the state trie do not change. */
async function paid(calls: CallTerms[], expirationTimestamp = 4_000_000_000n) {
  const intent: IntentTerms = {
    token,
    amount,
    calls,
    expirationTimestamp,
    recovery,
    salt: numberToHex(++salt, { size: 32 }),
    chainId: 31337n,
  };
  const vault = await addressOf(chain, intent);
  await mint(vault, amount);
  return { intent, vault };
}
const execute = async (calls: CallTerms[]) => {
  const { intent, vault } = await paid(calls);
  const { gasUsed } = await send(factoryAddress, toFactory("execute", [intent]));
  return { vault, gas: Number(gasUsed) };
};
async function closed() {
  const { intent, vault } = await paid([transfer], 1n);
  await send(factoryAddress, toFactory("recover", [intent, []]));
  return vault;
}

await mint(merchant, 1n);
await mint(recovery, 1n);
const executedVault = (await execute([transfer])).vault;
const closedVault = await closed();

describe("the gas of the periphery's calls", () => {
  test("the gas of each call matches the snapshot", async () => {
    const more = async (extra: CallTerms[]) => (await execute([...extra, transfer])).gas - plain;
    const plain = (await execute([transfer])).gas;
    await mint(merchant, 1n);
    const address = "address";
    const found = {
      requireExecuted: await more([
        call(conditions.address, "requireExecuted(address)", address, [executedVault]),
      ]),
      requireClosed: await more([
        call(conditions.address, "requireClosed(address)", address, [closedVault]),
      ]),
      requireGas: await more([call(guards.address, "requireGas(uint256)", "uint256", [10_000n])]),
      requireBalance: await more([
        call(guards.address, "requireBalance(address,address,uint256)", "address,address,uint256", [
          token,
          merchant,
          1n,
        ]),
      ]),
      // The additional gas of an approval and a call of the Collector, compared with one transfer.
      collect: (await execute([approval, collection])).gas - plain,
    };
    assert.deepEqual(
      found,
      committed.intent,
      `snapshots/gas-periphery.json: ${JSON.stringify(found)}`,
    );
  });
});

describe("Outcome.outcomeOf", () => {
  test("outcomeOf costs at most 2,700 gas", async () => {
    const meter = await deployMeter();
    const cost = async (vault: Address, fate: number) => {
      const [found, gas] = await client.readContract({ ...meter, args: [vault] });
      assert.equal(found, fate);
      assert.ok(gas > 2_600n && gas <= 2_700n, `${gas}`);
      return Number(gas);
    };
    const { vault } = await paid([transfer]);
    const found = {
      never: await cost(vault, 0),
      executed: await cost(executedVault, 1),
      closed: await cost(closedVault, 2),
    };
    assert.deepEqual(found, committed.outcomeOf, JSON.stringify(found));
  });
});

/** A contract that calls the library, compiled with the settings of the deployed contracts. */
async function deployMeter() {
  const abi = parseAbi(["function outcomeOf(address) view returns (uint8, uint256)"]);
  const source = "test/periphery/OutcomeMeter.sol";
  const args = ["build", "--out", "out/meter", "--cache-path", "cache/meter", source];
  const { exitCode, output } = runForge("default", args);
  assert.equal(exitCode, 0, output);
  const { bytecode } = readArtifact("out/meter", "OutcomeMeter");
  const address = await chain.deploy(abi, bytecode);
  return { address, abi, functionName: "outcomeOf" } as const;
}

type Evidence = { vault: Address; header: Hex; proof: Hex[]; hash: Hex };

async function evidenceOf(vault: Address, blockNumber: bigint): Promise<Evidence> {
  const tag = numberToHex(blockNumber);
  const ask = (method: string, params: unknown[]): Promise<never> =>
    client.request({ method, params } as never);
  const block = (await ask("eth_getBlockByNumber", [tag, false])) as Json & { hash: Hex };
  const header = [...listHeaders(block)].map((bytes) => toHex(bytes)).find(isBlocks(block.hash));
  assert.ok(header, "the header is the block's");
  const { accountProof } = (await ask("eth_getProof", [vault, [], tag])) as {
    accountProof: Hex[];
  };
  return { vault, header, proof: accountProof, hash: block.hash! };
}
const keccakBytes = (bytes: Hex | Uint8Array) => keccak256(bytes, "bytes");
const isBlocks = (hash: Hex) => (header: Hex) => keccak256(header) === hash;

const prove = ({ vault, header, proof, hash }: Evidence) =>
  client.readContract({
    ...outcomeProof,
    functionName: "prove",
    args: [vault, header, proof, hash],
  });
const flip = (bytes: Hex, at: number, by: number): Hex => {
  const changed = Buffer.from(bytes.slice(2), "hex");
  changed[at]! ^= by;
  return `0x${changed.toString("hex")}`;
};
/** Indices of a header's fields. */
const [stateRootAt, numberAt] = [3, 8];
/** The errors for a proof that does not lead from the root to a node. */
const noProof = /TrieProofTraversalError|RLPInvalidEncoding/;
const fate = { never: 0, executed: 1, closed: 2 };

describe("OutcomeProof", () => {
  const untouched = "0x00000000000000000000000000000000000bad01";
  let coin: { vault: Address };
  let blockNumber: bigint;
  let evidence: Evidence;
  before(async () => {
    // With this number of accounts, the proofs contain several trie nodes.
    await Promise.all(
      Array.from({ length: 600 }, (_, i) => {
        const address = slice(keccak256(numberToHex(i)), 12);
        return client.setBalance({ address, value: 1n });
      }),
    );
    coin = await paid([transfer]);
    await client.setBalance({ address: coin.vault, value: 1n });
    await client.mine({ blocks: 1 });
    // Reads the number from the block, because `getBlockNumber` can return a cached, older number.
    // A proof of the previous block would be wrong, because anvil's proofs also contain balances
    // that were set after the block.
    blockNumber = (await client.getBlock()).number;
    evidence = await evidenceOf(executedVault, blockNumber);
    await client.mine({ blocks: 3 });
  });

  test("OutcomeProof rejects a header or a proof with a changed byte", async () => {
    assert.equal((await prove(evidence)).fate, fate.executed, "the control");
    const changed = (bytes: Hex) =>
      Array.from({ length: size(bytes) }, (_, at) => flip(bytes, at, 1 << (at % 8)));
    const refuseAll = (all: Evidence[], reason: RegExp) =>
      Promise.all(all.map((each) => assert.rejects(prove(each), reason)));
    const { header, proof } = evidence;
    await refuseAll(
      changed(header).map((each) => ({ ...evidence, header: each })),
      /WrongHeader/,
    );
    for (const [index, node] of proof.entries()) {
      await refuseAll(
        changed(node).map((each) => ({ ...evidence, proof: proof.with(index, each) })),
        noProof,
      );
    }
  });

  test("OutcomeProof rejects a missing, repeated, swapped, or truncated node", async () => {
    const { proof } = evidence;
    const bad: Hex[][] = [[], proof.toReversed()];
    proof.forEach((node, at) => {
      bad.push(proof.toSpliced(at, 1), proof.toSpliced(at, 0, node), proof.slice(0, at));
      bad.push(proof.with(at, slice(node, 0, size(node) - 1)), proof.with(at, "0x"));
      bad.push(proof.with(at, concat([node, "0x00"])), [...proof, node]);
      for (let other = at + 1; other < proof.length; ++other) {
        bad.push(proof.with(at, proof[other]!).with(other, node));
      }
    });
    for (const each of bad) await assert.rejects(prove({ ...evidence, proof: each }), noProof);
  });

  test("OutcomeProof rejects the proof of another vault or block", async () => {
    await assert.rejects(prove({ ...evidence, vault: closedVault }), noProof);
    await assert.rejects(prove({ ...evidence, hash: zeroHash }), /WrongHeader/);
    await assert.rejects(prove(await evidenceOf(untouched, blockNumber)), noProof);
  });

  test("OutcomeProof rejects a header or an account with too few fields", async () => {
    const list = toRlp(["0x01", "0x02", "0x03"]);
    const short = { ...evidence, header: list, hash: keccak256(list) };
    await assert.rejects(prove(short), /MalformedHeader.*\(15, 3\)/s);

    const leaf = toRlp([concat(["0x20", keccak256(evidence.vault)]), list]);
    const fields = fromRlp(evidence.header, "hex") as Hex[];
    const header = toRlp(fields.with(stateRootAt, keccak256(leaf)));
    const odd = { ...evidence, header, hash: keccak256(header), proof: [leaf] };
    await assert.rejects(prove(odd), /MalformedAccount.*\(4, 3\)/s);
  });

  test("OutcomeProof returns the outcome of an executed, a closed, and an open vault", async () => {
    const of = async (vault: Address) => prove(await evidenceOf(vault, blockNumber));
    const executed = await prove(evidence);
    assert.deepEqual([executed.fate, executed.blockNumber], [fate.executed, blockNumber]);
    assert.equal(executed.blockTime, (await client.getBlock({ blockNumber })).timestamp);
    assert.equal((await of(closedVault)).fate, fate.closed);
    assert.equal((await of(coin.vault)).fate, fate.never);
  });

  test("OutcomeProof and the library agree on the proofs of 300 accounts", async () => {
    const codes = await Promise.all(
      [executedVault, closedVault].map((address) => client.getCode({ address })),
    );
    const fates = [fate.executed, fate.closed, fate.never];
    const places = Array.from({ length: 300 }, (_, i) => slice(keccak256(stringToHex(`${i}`)), 12));
    await Promise.all(
      places.slice(0, 240).map((address, i) => {
        const bytecode = codes[i % 3];
        if (bytecode) return client.setCode({ address, bytecode });
        return client.setBalance({ address, value: 1n });
      }),
    );
    await client.mine({ blocks: 1 });
    const { number, stateRoot } = await client.getBlock();
    const depths = new Set<number>();
    const found = await Promise.all(places.map((vault) => evidenceOf(vault, number)));
    for (const [i, evidence] of found.entries()) {
      const { vault } = evidence;
      const nodes = evidence.proof.map((node) => toBytes(node));
      const account = proveInTrie(toBytes(stateRoot), keccakBytes(vault), nodes, keccakBytes);
      depths.add(nodes.length);
      if (i >= 240) {
        assert.equal(account, undefined);
        await assert.rejects(prove(evidence), noProof);
        continue;
      }
      assert.ok(account);
      const codeHash = (fromRlp(account, "hex") as Hex[])[3];
      assert.equal(codeHash, keccak256(codes[i % 3] ?? "0x"));
      assert.equal((await prove(evidence)).fate, fates[i % 3]);
    }
    assert.ok(depths.size > 1, "proofs of one depth alone");
  });

  test("OutcomeProof reverts if the block hash is unknown", async () => {
    const values = fromRlp(evidence.header, "hex") as Hex[];
    const header = toRlp(values.with(numberAt, "0x0f4240"));
    await assert.rejects(here({ ...evidence, header }), /BlockHashUnknown/);
    await assert.rejects(by(await oracleOf(zeroHash), evidence), /BlockHashUnknown/);
  });

  test("OutcomeProof accepts a proof for a block that is 300 blocks old", async () => {
    assert.equal((await here(evidence)).fate, fate.executed);
    await client.mine({ blocks: 300 });
    assert.equal((await here(evidence)).fate, fate.executed);
  });

  test("OutcomeProof accepts a block hash from an oracle", async () => {
    await assert.rejects(by(await oracleOf(keccak256("0x01")), evidence), /WrongHeader/);
    const proven = await by(await oracleOf(evidence.hash), evidence);
    assert.equal(proven.fate, fate.executed);
  });

  test("the gas of a proof matches the snapshot", async () => {
    const { vault, header, proof, hash } = evidence;
    const data = encodeFunctionData({
      ...outcomeProof,
      functionName: "prove",
      args: [vault, header, proof, hash],
    });
    const { gasUsed } = await send(outcomeProof.address, data);
    assert.equal(proof.length, committed.proof.nodes);
    // The gas differs slightly between runs, because the time and the fee in the header vary. Their
    // zero bytes cost less calldata gas than other bytes.
    const off = Math.abs(Number(gasUsed) / committed.proof.transaction - 1);
    assert.ok(off < 0.02, `${gasUsed}`);
  });
});

/** A contract that returns `hash` for every call. */
const oracleOf = (hash: Hex) =>
  chain.deploy([], concat(["0x60278060095f395ff3", "0x7f", hash, "0x5f5260205ff3"]));
const here = ({ vault, header, proof }: Evidence) =>
  client.readContract({ ...outcomeProof, functionName: "proveHere", args: [vault, header, proof] });
const by = (oracle: Address, { vault, header, proof }: Evidence) =>
  client.readContract({
    ...outcomeProof,
    functionName: "proveBy",
    args: [oracle, vault, header, proof],
  });
