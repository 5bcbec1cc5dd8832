// Tests spec/proof-vectors.json, which contains proofs of each outcome from a real chain. Other
// implementations can use this file for their tests. UPDATE_VECTORS regenerates the proofs on
// anvil.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { startWorld } from "../../service/testing/chain/world.ts";
import { fromHex, toHex } from "../abi/hex.ts";
import { zeroAddress } from "../abi/token.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { keccak256 } from "../keccak/keccak.ts";
import { buildProof } from "./build/trie.ts";
import {
  type AddressProof,
  proveAddress,
  proveExecution,
  proveOutcome,
  provePayment,
  proveRecovery,
  type TrustedBlock,
  verifyAddressProof,
} from "./proof.ts";
import { encodeRlp } from "./rlp.ts";

const file = new URL("../../spec/proof-vectors.json", import.meta.url);

type Vector = {
  record: AddressRecord;
  trusted: TrustedBlock[];
  proof: AddressProof;
};

async function makeVectors(): Promise<Vector[]> {
  const world = await startWorld(undefined, "prague");
  const rpcs = [world.rpcUrl];
  const vectors: Vector[] = [];
  const add = async (record: AddressRecord) => {
    const { proof, agreed } = await proveAddress(record, { rpcs });
    const hashes = [...new Set([agreed.hash, proof.execution?.block.hash ?? agreed.hash])];
    const trusted = hashes.map((hash) => ({ chainId: agreed.chainId, hash }));
    vectors.push({ record, trusted, proof });
  };
  const [executed, open, late] = [
    await world.newRecord(),
    await world.newRecord({ expirationTimestamp: 4_000_000_000 }),
    await world.newRecord(),
  ];
  await world.pay(executed.address, 130n);
  await world.execute(executed);
  await world.mine(2);
  await add(executed);
  await add(open);
  await world.payNative(late.address, 5n);
  await world.mineAt(late.intent.expirationTimestamp + 1);
  await add(late);
  await world.recover(late, [zeroAddress]);
  await add(late);
  await world.stop();
  return vectors;
}

if (process.env.UPDATE_VECTORS) {
  writeFileSync(file, `${JSON.stringify(await makeVectors(), null, 1)}\n`);
}

describe("spec/proof-vectors.json", () => {
  const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];

  test("spec/proof-vectors.json contains a proof of each outcome", () => {
    const outcomes = vectors.map(({ proof }) => proof.outcome);
    assert.deepEqual(outcomes, ["executed", "open", "never", "closed"]);
  });

  test("proveOutcome throws for an invalid hash or invalid hex", () => {
    const { record, trusted, proof } = vectors[1]!;
    const block = { ...trusted[0]!, hash: "0x12" as const };
    assert.throws(() => proveOutcome(record, proof.proof, block), {
      name: "TypeError",
      message: 'hash: expected 32 bytes of hex, found "0x12"',
    });
    const account = ["0xxx"] as never;
    assert.throws(() => proveOutcome(record, { ...proof.proof, account }, trusted[0]!), {
      code: "invalid_proof",
      message: 'account: expected hex, found "0xxx"',
    });
  });

  test("proveOutcome throws if the proof has more than 65 nodes", () => {
    const { record, trusted, proof } = vectors[1]!;
    for (const [account, found] of [
      [Array(66).fill("0x"), "66"],
      ["0x", "a string"],
      [undefined, "nothing"],
    ] as const)
      assert.throws(
        () => proveOutcome(record, { ...proof.proof, account: account as never }, trusted[0]!),
        {
          code: "invalid_proof",
          message: `account: expected a list of at most 65 nodes, found ${found}`,
        },
      );
  });

  test("proveOutcome throws if the account does not have the code of a vault", () => {
    const { record, proof } = vectors[0]!;
    const [key, codeHash] = [keccak256(fromHex(record.address)), new Uint8Array(32).fill(7)];
    const value = encodeRlp([Uint8Array.of(1), new Uint8Array(), codeHash, codeHash]);
    const { root, nodes } = buildProof([{ key, value }], key, keccak256);
    const header = proof.proof.header.replace(
      /^(0xf9....a0.{64}a0.{64}94.{40}a0).{64}/,
      `$1${toHex(root).slice(2)}`,
    ) as Hex;
    const block = { chainId: proof.chainId, hash: toHex(keccak256(fromHex(header))) };
    const account = nodes.map((node) => toHex(node));
    assert.throws(() => proveOutcome(record, { header, account }, block), {
      code: "invalid_proof",
      message:
        "account: expected a code hash that the vault can have at this time, " +
        `found ${toHex(codeHash)}`,
    });
  });

  test("a transaction of one address cannot prove anything about another address", () => {
    const [{ proof }, { record: open }] = vectors as [Vector, Vector];
    const { execution } = proof;
    assert.ok(execution);
    const block = { chainId: proof.chainId, hash: execution.block.hash };
    const of = (message: string) => ({ code: "invalid_proof", message });
    for (const [prove, message] of [
      [proveExecution, "receipt: expected one execution of this address, found none"],
      [proveRecovery, "receipt: expected a recovery of this address, found none"],
      [provePayment, "receipt: expected a payment to this address, found none"],
    ] as const)
      assert.throws(() => prove(open, execution.proof, block), of(message));
  });

  test("proveExecution throws if the block has no transaction at the index", () => {
    const { record, proof } = vectors[0]!;
    const { execution } = proof;
    assert.ok(execution);
    const block = { chainId: proof.chainId, hash: execution.block.hash };
    const elsewhere = { ...execution.proof, transactionIndex: 1 };
    assert.throws(() => proveExecution(record, elsewhere, block), {
      code: "invalid_proof",
      message: "expected a receipt at index 1 in the block, found none",
    });
  });

  test("proveExecution throws for an invalid index or header", () => {
    const { record, proof } = vectors[0]!;
    const { execution } = proof;
    assert.ok(execution);
    const { hash } = execution.block;
    const { headers } = execution.proof;
    const other = `0x${"ab".repeat(32)}`;
    const child = headers[0]!.replace(/^(0xf9....a0).{64}/, `$1${other.slice(2)}`) as Hex;
    const childHash = toHex(keccak256(fromHex(child)));
    for (const [changed, message, trusted = hash] of [
      [{ transactionIndex: -1 }, "transactionIndex: expected an integer of at least 0, found -1"],
      [{ transactionIndex: "0" }, 'transactionIndex: expected an integer of at least 0, found "0"'],
      [{ headers: null }, "headers: expected a list, found null"],
      [{ headers: [] }, "headers: expected hex, found nothing"],
      [
        { headers: [headers[0], child] },
        `header: expected the block ${other}, found ${hash}`,
        childHash,
      ],
    ] as const) {
      const evidence = { ...execution.proof, ...changed } as never;
      const block = { chainId: proof.chainId, hash: trusted };
      const refused = { code: "invalid_proof", message };
      assert.throws(() => proveExecution(record, evidence, block), refused);
    }
  });

  test("verifyAddressProof throws if the execution contradicts the outcome", () => {
    const [executed, open] = vectors as [Vector, Vector];
    for (const [{ record, trusted, proof }, execution, found] of [
      [executed, null, "expected an object for the outcome executed, found null"],
      [executed, undefined, "expected an object for the outcome executed, found nothing"],
      [open, executed.proof.execution, "expected null for the outcome open, found an object"],
    ] as const)
      assert.throws(
        () => verifyAddressProof(record, { ...proof, execution } as AddressProof, trusted),
        { code: "invalid_proof", message: `execution: ${found}` },
      );
  });

  test("verifyAddressProof names the field that differs from the proved value", () => {
    const [{ record, trusted, proof }] = vectors as [Vector];
    const { block, chainId, execution } = proof;
    for (const [changed, message] of [
      [
        { outcome: "open" },
        'outcome: expected the proven value "executed", found a different value',
      ],
      [{ chainId: 1 }, `chainId: expected the proven value ${chainId}, found a different value`],
      [
        { block: { hash: { toString: 1 } } as never },
        "block: expected the hash of a trusted block, found an object",
      ],
      [
        { block: { ...block, number: 7 } },
        `block.number: expected the proven value ${block.number}, found a different value`,
      ],
      [
        { execution: { ...execution!, left: "7" } },
        `execution.left: expected the proven value "${execution!.left}", found a different value`,
      ],
    ] as const)
      assert.throws(() => verifyAddressProof(record, { ...proof, ...changed }, trusted), {
        ...{ code: "invalid_proof", message },
      });
  });

  for (const { record, trusted, proof } of vectors) {
    test(`a proof of the outcome ${proof.outcome} is valid only if its blocks are trusted`, () => {
      const { outcome, block, execution } = verifyAddressProof(record, proof, trusted);
      assert.deepEqual({ outcome, block }, { outcome: proof.outcome, block: proof.block });
      assert.equal(execution?.transactionHash, proof.execution?.transactionHash);
      const others = vectors
        .flatMap((each) => each.trusted)
        .filter(({ hash }) => trusted.every((block) => block.hash !== hash));
      assert.throws(() => verifyAddressProof(record, proof, others), { code: "invalid_proof" });
      const elsewhere = trusted.map((block) => ({ ...block, chainId: 1 }));
      assert.throws(() => verifyAddressProof(record, proof, elsewhere), { code: "wrong_chain" });
    });
  }
});
