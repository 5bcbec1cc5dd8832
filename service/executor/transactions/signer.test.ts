import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { keccak256, parseTransaction } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { openSigner, writeNewKey } from "./signer.ts";

const key = `0x${"4c".repeat(32)}` as const;

/** {@link key} under "open sesame" as another program writes it, ox 0.14.45. */
const published = {
  version: 3,
  id: "0fa4a4d9-55fb-4fb4-8bfb-8f469731d55d",
  crypto: {
    cipher: "aes-128-ctr",
    ciphertext: "98156e8c916c543a7e52bdc949f7d6db0e8a9b3b60aa9ed2d184da1c93efa8aa",
    cipherparams: { iv: "ee728fd20070af767b500d238c630ffd" },
    kdf: "scrypt",
    kdfparams: {
      dklen: 32,
      n: 1024,
      p: 1,
      r: 8,
      salt: "d503996ddca5d19d734fc8efb19f2815fbafa409206c850d2a5d09b3967a594c",
    },
    mac: "3b89f7f99cea289650a36e2a4ea7e36e08d66918052a8e006720a72e968e0f02",
  },
};

describe("the executor's key", () => {
  let directory: string;
  const path = (name: string) => join(directory, name);

  before(() => {
    directory = mkdtempSync(join(tmpdir(), "signer-"));
    writeFileSync(path("password"), "open sesame\n");
    writeFileSync(path("wrong"), "open barley");
    writeFileSync(path("keystore"), JSON.stringify(published));
    const { crypto } = published;
    const kdfparams = { ...crypto.kdfparams, n: 262_144, r: 1, p: 8 };
    writeFileSync(path("r1"), JSON.stringify({ crypto: { ...crypto, kdfparams } }));
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
    const r1 = refusal({ executorKeystore: path("r1"), executorPasswordFile: path("password") });
    assert.match(r1, /EXECUTOR_KEYSTORE asks for scrypt with n 262144, r 1, p 8/);
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

describe("a new key", () => {
  const folder = mkdtempSync(join(tmpdir(), "new-key-"));
  after(() => rmSync(folder, { recursive: true }));
  const [keystore, password] = [join(folder, "key.json"), join(folder, "password.txt")];

  test("refused where its file is there, or the password is empty: nothing is written", () => {
    writeFileSync(join(folder, "empty"), "\n");
    assert.throws(() => writeNewKey(keystore, join(folder, "empty")), /holds no password/);
    assert.ok(!existsSync(keystore));
    writeFileSync(join(folder, "there"), "a key");
    assert.throws(() => writeNewKey(join(folder, "there"), password), /no key is overwritten/);
    assert.equal(readFileSync(join(folder, "there"), "utf8"), "a key");
    assert.ok(!existsSync(password));
  });

  test("opens with its password, given or drawn, and is its owner's alone", () => {
    const address = writeNewKey(keystore, password);
    const opens = (executorKeystore: string) =>
      openSigner({ executorKeystore, executorPasswordFile: password }).address;
    assert.equal(opens(keystore), address);
    assert.match(readFileSync(password, "utf8"), /^[0-9a-f]{64}\n$/);
    const second = join(folder, "second.json");
    assert.notEqual(writeNewKey(second, password), address);
    assert.notEqual(opens(second), address);
    for (const file of [keystore, password, second])
      assert.equal(statSync(file).mode & 0o777, 0o600);
  });
});
