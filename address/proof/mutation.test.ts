// Tests that changed proofs are rejected. The tests change one byte of a real proof or its record.
// They also remove, repeat, replace, shorten, and reorder nodes of the proof, and change its
// claims.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isLong } from "../../scripts/long.ts";
import { startWorld, type World } from "../../service/testing/chain/world.ts";
import { InvalidError } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { randomFrom } from "../test/random.ts";
import { type AddressProof, ProofError, proveAddress, verifyAddressProof } from "./proof.ts";

type Case = { record: AddressRecord; proof: AddressProof };

describe("tampered proofs", () => {
  let world: World;
  let cases: Case[];
  let trusted: { chainId: number; hash: Hex }[];

  before(async () => {
    world = await startWorld();
    const [executed, open, other] = await Promise.all([1, 2, 3].map(() => world.newRecord()));
    for (const record of [executed!, other!]) {
      await world.pay(record.address, 130n);
      await world.execute(record);
    }
    cases = [];
    for (const record of [executed!, open!]) {
      const { proof } = await proveAddress(record, { rpcs: [world.rpcUrl] });
      cases.push({ record, proof });
    }
    trusted = cases.flatMap(({ proof: { chainId, block, execution } }) =>
      [block, execution?.block ?? block].map(({ hash }) => ({ chainId, hash })),
    );
  });
  after(() => world.stop());

  const isAccepted = ({ record, proof }: Case) => {
    try {
      verifyAddressProof(record, proof, trusted);
      return true;
    } catch (error) {
      if (error instanceof ProofError || error instanceof InvalidError) return false;
      throw error;
    }
  };

  /** Finds each hex string in a test case, with its path and value. */
  function* textsOf(value: unknown, path: (string | number)[] = []): Generator<[typeof path, Hex]> {
    if (typeof value === "string" && /^0x([0-9a-f]{2})+$/i.test(value)) yield [path, value as Hex];
    if (typeof value === "object" && value !== null)
      for (const [key, each] of Object.entries(value)) yield* textsOf(each, [...path, key]);
  }
  const put = (from: Case, path: readonly (string | number)[], value: unknown): Case => {
    const copy = structuredClone(from);
    let at = copy as unknown as Record<string | number, unknown>;
    for (const step of path.slice(0, -1)) at = at[step] as typeof at;
    at[path.at(-1)!] = value;
    return copy;
  };

  test("control: the original proofs are accepted", () => {
    for (const each of cases) assert.ok(isAccepted(each));
  });

  test("a proof with a changed byte is rejected", () => {
    const random = randomFrom(1);
    const texts = cases.flatMap((each) =>
      [...textsOf(each)].map(([path, text]) => ({ each, path, text })),
    );
    for (let i = 0; i < (isLong ? 100_000 : 3_000); i++) {
      const { each, path, text } = texts[random.below(texts.length)]!;
      const at = 2 + 2 * random.below(text.length / 2 - 1);
      const byte = Number.parseInt(text.slice(at, at + 2), 16) ^ (1 + random.below(255));
      const digits = byte.toString(16).padStart(2, "0");
      const changed = text.slice(0, at) + digits + text.slice(at + 2);
      assert.equal(isAccepted(put(each, path, changed)), false, `${path.join(".")} at ${at}`);
    }
  });

  test("a proof with a missing, repeated, swapped, or truncated node is rejected", () => {
    const random = randomFrom(2);
    const lists = cases.flatMap((each) => [
      { each, path: ["proof", "proof", "account"], list: each.proof.proof.account },
      ...(["receipt", "transaction", "headers"] as const).flatMap((name) => {
        const list = each.proof.execution?.proof[name];
        return list ? [{ each, path: ["proof", "execution", "proof", name], list }] : [];
      }),
    ]);
    for (let i = 0; i < (isLong ? 10_000 : 1_500); i++) {
      const { each, path, list } = lists[random.below(lists.length)]!;
      const from = lists[random.below(lists.length)]!.list;
      const node = from[random.below(from.length)]!;
      const at = random.below(list.length);
      const cut = list[at]!.slice(0, 2 + 2 * random.below(list[at]!.length / 2 - 1)) as Hex;
      const changed = [
        () => list.toSpliced(at, 1),
        () => list.toSpliced(at, 0, node),
        () => list.toSpliced(at, 1, node),
        () => list.toSpliced(at, 1, cut),
        () => [...list, node],
        () => [...list].reverse(),
      ][random.below(6)]!();
      if (JSON.stringify(changed) === JSON.stringify(list)) continue;
      assert.equal(isAccepted(put(each, path, changed)), false, path.join("."));
    }
  });

  test("a proof with a false claim or another address's record is rejected", () => {
    const [executed, open] = cases as [Case, Case];
    const claims: [string[], unknown][] = [
      [["proof", "outcome"], "open"],
      [["proof", "chainId"], 1],
      [["proof", "execution"], null],
      [["proof", "block", "number"], 1],
      [["proof", "block", "timestamp"], 1],
      [["proof", "execution", "held"], "131"],
      [["proof", "execution", "left"], "0"],
      [["proof", "execution", "block", "timestamp"], 1],
      [["proof", "execution", "proof", "transactionIndex"], 1],
      [["proof", "execution", "proof", "transactionIndex"], -1],
      [["proof", "proof"], null],
      [["proof"], null],
      [["proof"], open.proof],
      [["record"], open.record],
      [["record", "intent", "chainId"], 1],
      [["record", "factory"], world.token],
    ];
    for (const [path, value] of claims)
      assert.equal(isAccepted(put(executed, path, value)), false, path.join("."));
    const mixed = { ...open.proof, execution: executed.proof.execution };
    assert.equal(isAccepted({ ...open, proof: mixed }), false);
  });
});
