import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { key, own, keystore as published } from "../../testing/executor/signing.ts";
import { writeNewKey } from "./keystore.ts";
import { openSigner } from "./signer.ts";

describe("openSigner", () => {
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

  test("throws an error with the cause, but without secrets, if the key cannot be read", () => {
    const executorKeystore = path("keystore");
    assert.match(refusal({}), /no key; set EXECUTOR_KEY/);
    assert.match(refusal({ executorKey: key, executorKeystore }), /both set/);
    assert.match(refusal({ executorKeystore }), /requires EXECUTOR_PASSWORD_FILE/);
    const wrong = refusal({ executorKeystore, executorPasswordFile: path("wrong") });
    assert.match(wrong, /does not contain the password/);
    assert.doesNotMatch(wrong, /barley/);
    const other = refusal({
      executorKeystore: path("pbkdf2"),
      executorPasswordFile: path("wrong"),
    });
    assert.match(other, /not a version 3 keystore/);
    assert.doesNotMatch(other, /s3cret/);
    const r1 = refusal({ executorKeystore: path("r1"), executorPasswordFile: path("password") });
    assert.match(r1, /EXECUTOR_KEYSTORE uses scrypt with n 262144, r 1, p 8/);
    const gone = refusal({
      executorKeystore: path("gone"),
      executorPasswordFile: path("password"),
    });
    assert.match(gone, /EXECUTOR_KEYSTORE .* cannot be read: ENOENT/);
  });

  test("throws if the settings of a remote signer are incomplete or contradictory", () => {
    const executorAddress = own.address;
    const executorSignerUrl = "http://127.0.0.1:1";
    const sentences: [Parameters<typeof openSigner>[0], RegExp][] = [
      [{ executorSignerUrl }, /^EXECUTOR_SIGNER_URL requires EXECUTOR_ADDRESS, which is not set$/],
      [
        { executorSignerUrl, executorAddress, executorKeystore: "key" },
        /EXECUTOR_KEYSTORE and EXECUTOR_SIGNER_URL are both/,
      ],
      [
        { executorKeystore: "key", executorAddress },
        /^EXECUTOR_ADDRESS requires EXECUTOR_SIGNER_URL, which is not set$/,
      ],
    ];
    for (const [source, sentence] of sentences) assert.match(refusal(source), sentence);
  });
});

describe("writeNewKey", () => {
  const folder = mkdtempSync(join(tmpdir(), "new-key-"));
  after(() => rmSync(folder, { recursive: true }));
  const [keystore, password] = [join(folder, "key.json"), join(folder, "password.txt")];

  test("throws if the key file already exists or the password file is empty", () => {
    writeFileSync(join(folder, "empty"), "\n");
    assert.throws(() => writeNewKey(keystore, join(folder, "empty")), /contains no password/);
    assert.ok(!existsSync(keystore));
    writeFileSync(join(folder, "there"), "a key");
    assert.throws(() => writeNewKey(join(folder, "there"), password), /keys are never overwritten/);
    assert.equal(readFileSync(join(folder, "there"), "utf8"), "a key");
    assert.ok(!existsSync(password));
  });

  test("creates an encrypted key, in files that only their owner can read", () => {
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
