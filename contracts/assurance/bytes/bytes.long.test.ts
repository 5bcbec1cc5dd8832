// Proves how two short pieces of code behave: PREFIX, which creates a vault, and the code at a
// vault. The test reads the code at a vault from a chain. Each required property of the code is
// called a law. The proof covers every caller, calldata, result of the called contract, and gas
// limit. The test then changes each byte of the code to every other value. Each change must make
// the code violate a law, unless this file lists the change as harmless.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import {
  encodeFunctionData,
  getAddress,
  type Hex,
  hexToBytes,
  toFunctionSelector,
  zeroHash,
} from "viem";
import { deployFactory } from "../../deploy.ts";
import { demoToken, factoryAddress, initCodePrefix } from "../../index.ts";
import { addressOf, type CallTerms, openChain, toFactory } from "../../testing/local-chain.ts";
import { broken, type Laws, prefixBytes, prefixLaws, stubLaws } from "./laws.ts";
import { everything, examples, openProver } from "./prover.ts";
import { any } from "./terms.ts";

const intentTuple =
  "(address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256)";
const factory = BigInt(factoryAddress);
const prefix = hexToBytes(initCodePrefix);
const vaults = await leaveVaults();
const prover = await openProver();
after(() => prover.close());

/**
 * Maps the offset of a byte to the opcodes that can replace the byte without any effect. For
 * example, RETURNDATASIZE (3d) pushes zero before the first call. DUP1 to DUP5 (80 to 84) can copy
 * a zero from the stack. SUB (03) can replace XOR in a comparison, because both return zero for
 * equal words only.
 */
type Free = Record<number, string>;

/**
 * The harmless changes to a vault's code. Offsets start at the first byte after the factory's
 * address. The opcodes at offsets 8 and 9 push the size and position of memory for DELEGATECALL's
 * result. The size is zero, because RETURNDATACOPY copies the result later. Any other size is also
 * harmless if it expands the memory little or not at all. The position does not matter if the size
 * is zero.
 */
const freeInStub: Free = {
  0: "03",
  5: "3d",
  6: "3d 80",
  8: "36 38 3d 58",
  9: "30 33 34 36 38 3d 58 5a 80",
  11: "3d 81 82",
  17: "80",
};
/**
 * The opcodes that can replace the last byte of a closed vault's code. They do nothing, or only
 * push a word. The last byte has no effect. It only shows that the vault was closed.
 */
const looksAndPushes = [0x30, 0x33, 0x34, 0x36, 0x38, 0x3d, 0x58, 0x5a, 0x5b]
  .concat(Array.from({ length: 33 }, (_, bytes) => 0x5f + bytes))
  .map((opcode) => opcode.toString(16))
  .join(" ");
/**
 * The harmless changes to PREFIX. The opcodes at offsets 0 and 1 have the same purpose as the
 * opcodes at 8 and 9 in {@link freeInStub}. With CODESIZE at offset 6, PREFIX copies more bytes
 * than it uses. The extra bytes have no effect.
 */
const freeInPrefix: Free = {
  0: "36 38 3d 58",
  1: "30 33 34 36 38 3d 58 5a 80",
  6: "38",
  9: "3d 83 84",
  11: "3d 81 82",
  17: "80",
};

describe("the code of an executed vault", () => {
  const code = hexToBytes(vaults.executed);
  holds(code, stubLaws(factory), BigInt(code.length), freeInStub, behindAddress(code));
});

describe("the code of a closed vault", () => {
  const code = hexToBytes(vaults.closed);
  const free = { ...freeInStub, 23: looksAndPushes };
  holds(code, stubLaws(factory), BigInt(code.length), free, behindAddress(code));

  test("equals the code of an executed vault plus a STOP opcode", () => {
    assert.equal(vaults.closed, `${vaults.executed}00`);
  });
});

describe("PREFIX (the start of a vault's init code)", () => {
  holds(prefix.slice(0, Number(prefixBytes)), prefixLaws, undefined, freeInPrefix, 0);

  test("PREFIX ends with the selector of `onCreation`", () => {
    const selector = hexToBytes(toFunctionSelector(`onCreation(${intentTuple})`));
    assert.deepEqual(prefix.slice(Number(prefixBytes)), selector);
  });
});

/**
 * @param codeBytes the length of the whole code. `codeBytes` is undefined if terms follow `code`,
 *   because terms can have any length
 */
function holds(
  code: Uint8Array,
  laws: Laws,
  codeBytes: bigint | undefined,
  free: Free,
  at0: number,
) {
  for (const name of Object.keys(laws)) {
    test(name, async () => {
      assert.equal(
        await prover.satisfiable(broken(laws, code, everything(codeBytes))[name]!),
        false,
      );
    });
  }

  test("changing a byte of the code violates a property or is listed as harmless", async (t) => {
    const single = examples(factory, codeBytes);
    const brokenBySome = (changed: Uint8Array) => {
      for (const example of single) {
        const names = Object.entries(broken(laws, changed, example)).filter(([, is]) => is);
        if (names.length > 0) return names.map(([name]) => name);
      }
      return [];
    };
    const seen = new Set<string>();
    const found: Record<number, string[]> = {};
    const byExamples = { count: 0, ms: 0 };
    const byZ3 = { count: 0, ms: 0 };
    for (const { changed, at, value } of changes(code)) {
      const startMs = performance.now();
      const names = brokenBySome(changed);
      const examplesMs = performance.now();
      byExamples.ms += examplesMs - startMs;
      for (const name of names) seen.add(name);
      if (names.length > 0) {
        byExamples.count++;
        continue;
      }
      const conditions = Object.values(broken(laws, changed, everything(codeBytes)));
      const isBroken = await prover.satisfiable(any(...conditions));
      byZ3.ms += performance.now() - examplesMs;
      byZ3.count++;
      if (isBroken) continue;
      found[at - at0] = [...(found[at - at0] ?? []), value.toString(16).padStart(2, "0")];
    }
    t.diagnostic(
      `examples detected ${byExamples.count} changes in ${Math.round(byExamples.ms)} ms; ` +
        `Z3 decided the other ${byZ3.count} in ${Math.round(byZ3.ms)} ms`,
    );
    assert.deepEqual([...seen].sort(), Object.keys(laws).sort());
    const listed = Object.entries(free).map(([at, values]) => [at, values.split(" ")]);
    assert.deepEqual(found, Object.fromEntries(listed));
  });
}

function* changes(code: Uint8Array) {
  for (let at = 0; at < code.length; ++at) {
    for (let value = 0; value < 256; ++value) {
      if (value === code[at]) continue;
      const changed = code.slice();
      changed[at] = value;
      yield { changed, at, value };
    }
  }
}

/**
 * Returns the offset of the first byte after the factory's address in a vault's code. The code
 * starts with CALLER, a PUSH opcode, and the address without its leading zeros.
 */
function behindAddress(code: Uint8Array): number {
  return 2 + code[1]! - 0x5f;
}

/** Executes one vault and closes another on a local chain, and returns their code. */
async function leaveVaults(): Promise<{ executed: Hex; closed: Hex }> {
  const chain = await openChain();
  try {
    await deployFactory(chain.client);
    const token = await chain.deploy(demoToken.abi, demoToken.bytecode, ["Dollar", "DUSD", 6]);
    const { timestamp } = await chain.client.getBlock();
    const leave = async (calls: CallTerms[], expirationTimestamp: bigint, data: typeof toVault) => {
      const intent = {
        token,
        amount: 1n,
        calls,
        expirationTimestamp,
        recovery: getAddress("0x00000000000000000000000000000000000c0ffe"),
        salt: zeroHash,
        chainId: 31337n,
      };
      const address = await addressOf(chain, intent);
      const { abi } = demoToken;
      await chain.send(
        token,
        encodeFunctionData({ abi, functionName: "mint", args: [address, 1n] }),
      );
      await chain.send(factoryAddress, data(intent));
      return (await chain.client.getCode({ address }))!;
    };
    const toVault = (intent: object) => toFactory("execute", [intent]);
    const call = { target: token, signature: "decimals()", names: "", args: "0x" } as const;
    return {
      executed: await leave([call], timestamp + 3_600n, toVault),
      closed: await leave([], 0n, (intent) => toFactory("recover", [intent, []])),
    };
  } finally {
    await chain.anvil.stop();
  }
}
