import assert from "node:assert/strict";
import { createCipheriv, randomBytes, scryptSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { keccak256, parseTransaction } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { openSigner } from "./signer.ts";

const key = `0x${"4c".repeat(32)}` as const;

describe("the executor's key", () => {
  let directory: string;
  const path = (name: string) => join(directory, name);

  before(() => {
    directory = mkdtempSync(join(tmpdir(), "signer-"));
    writeFileSync(path("password"), "open sesame\n");
    writeFileSync(path("wrong"), "open barley");
    writeFileSync(path("keystore"), JSON.stringify(keystoreOf(key, "open sesame")));
    writeFileSync(path("pbkdf2"), JSON.stringify({ crypto: { kdf: "pbkdf2", secret: "s3cret" } }));
  });
  after(() => rmSync(directory, { recursive: true }));

  const refusal = (source: Parameters<typeof openSigner>[0]) => {
    try {
      openSigner(source);
    } catch (error) {
      return (error as Error).message;
    }
    return "none";
  };

  test("a sentence for each way of not having one, which shows no secret", () => {
    const executorKeystore = path("keystore");
    assert.match(refusal({}), /no key; set EXECUTOR_KEY/);
    assert.match(refusal({ executorKey: key, executorKeystore }), /both set/);
    assert.match(refusal({ executorKeystore }), /without EXECUTOR_PASSWORD_FILE/);
    const wrong = refusal({ executorKeystore, executorPasswordFile: path("wrong") });
    assert.match(wrong, /does not hold the password/);
    assert.doesNotMatch(wrong, /barley/);
    const other = refusal({
      executorKeystore: path("pbkdf2"),
      executorPasswordFile: path("wrong"),
    });
    assert.match(other, /not a version 3 keystore/);
    assert.doesNotMatch(other, /s3cret/);
    const gone = refusal({
      executorKeystore: path("gone"),
      executorPasswordFile: path("password"),
    });
    assert.match(gone, /EXECUTOR_KEYSTORE .* cannot be read: ENOENT/);
  });

  test("from the environment or from a keystore: the same sender, the same bytes", async () => {
    const plain = openSigner({ executorKey: key });
    const stored = openSigner({
      executorKeystore: path("keystore"),
      executorPasswordFile: path("password"),
    });
    assert.equal(plain.address, privateKeyToAddress(key).toLowerCase());
    assert.equal(stored.address, plain.address);
    const transaction = {
      chainId: 1,
      nonce: 7,
      to: plain.address,
      data: "0x12" as const,
      gas: 21_000,
      maxFee: 9n,
      priorityFee: 2n,
    };
    const raw = await plain.sign(transaction);
    assert.equal(keccak256(await stored.sign(transaction)), keccak256(raw));
    const parsed = parseTransaction(raw);
    assert.deepEqual([parsed.nonce, parsed.maxFeePerGas, parsed.gas], [7, 9n, 21_000n]);
  });
});

/** As geth writes it, with less work for scrypt. */
function keystoreOf(secret: string, password: string) {
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  const derived = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 });
  const cipher = createCipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  const ciphertext = cipher.update(Buffer.from(secret.slice(2), "hex"));
  const mac = keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])).slice(2);
  return {
    version: 3,
    crypto: {
      cipher: "aes-128-ctr",
      ciphertext: ciphertext.toString("hex"),
      cipherparams: { iv: iv.toString("hex") },
      kdf: "scrypt",
      kdfparams: { n: 1024, r: 8, p: 1, dklen: 32, salt: salt.toString("hex") },
      mac,
    },
  };
}
