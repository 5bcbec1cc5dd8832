import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { numberToHex, parseTransaction, serializeTransaction } from "viem";
import {
  asAsked,
  curveOrder,
  key,
  other,
  own,
  keystore as published,
  refused,
  wanted,
  withRemoteSigner,
} from "../../testing/executor/signing.ts";
import type { UnsignedTransaction } from "../pass.ts";
import { writeNewKey } from "./keystore.ts";
import { openSigner, openSigners } from "./signer.ts";

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
    const foreign = { kdf: "pbkdf2", cipher: "aes-128-cbc", secret: "s3cret" };
    writeFileSync(path("pbkdf2"), JSON.stringify({ crypto: foreign }));
    writeFileSync(path("raw"), key);
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
    assert.match(other, /not a version 3 keystore .*; found "pbkdf2" and "aes-128-cbc"$/);
    assert.doesNotMatch(other, /s3cret/);
    const raw = refusal({ executorKeystore: path("raw"), executorPasswordFile: path("wrong") });
    assert.match(raw, /not a version 3 keystore .*; found other content$/);
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

const first = `0x${"ab".repeat(20)}`;
const second = `0x${"CD".repeat(20)}`;
const signerUrl = "http://user:s3cret@127.0.0.1:1";

describe("a file of executor keys", () => {
  const folder = mkdtempSync(join(tmpdir(), "keys-"));
  after(() => rmSync(folder, { recursive: true }));
  const fileOf = (text: string) => {
    const file = join(folder, "keys.json");
    writeFileSync(file, text);
    return file;
  };
  const refusal = (source: Parameters<typeof openSigners>[0]) => {
    try {
      openSigners(source);
    } catch (error) {
      return (error as Error).message;
    }
    return "none";
  };

  const faulty: [string, unknown][] = [
    ["no key", []],
    ["a key outside a list", { signerUrl, address: first }],
    ["a key without its address", [{ signerUrl }]],
    ["an unknown setting", [{ signerUrl, address: first, chain: 1 }]],
    ["two kinds of keys in one entry", [{ signerUrl, keystore: "key.json", address: first }]],
    ["a truncated address", [{ signerUrl, address: first.slice(0, -1) }]],
    ["a private key", [{ key: `0x${"4c".repeat(32)}` }]],
  ];
  for (const [name, keys] of faulty) {
    test(`is refused if it contains ${name}, with an error that does not quote it`, () => {
      const message = refusal({ executorKeys: fileOf(JSON.stringify(keys)) });
      assert.match(message, /^EXECUTOR_KEYS .* is not a list of keys/);
      assert.doesNotMatch(message, /s3cret|4c4c/);
    });
  }

  test("is refused if it is unreadable, lists a key twice, or names an unreadable file", () => {
    assert.match(refusal({ executorKeys: fileOf("[") }), /is not a list of keys/);
    assert.match(refusal({ executorKeys: join(folder, "gone") }), /cannot be read: ENOENT/);
    const twice = [
      { signerUrl: "http://127.0.0.1:2", address: first },
      { signerUrl, address: first.toUpperCase().replace("0X", "0x") },
    ];
    assert.match(
      refusal({ executorKeys: fileOf(JSON.stringify(twice)) }),
      /contains the key of 0x[0-9a-fA-F]{40} twice/,
    );
    const gone = [{ keystore: "gone.json", passwordFile: "gone.txt" }];
    assert.match(
      refusal({ executorKeys: fileOf(JSON.stringify(gone)) }),
      /gone.txt cannot be read/,
    );
  });

  test("is refused if a setting for a single executor key is also set", () => {
    const keys = [{ signerUrl, address: first }];
    const executorKeys = fileOf(JSON.stringify(keys));
    const one = [
      ["EXECUTOR_KEY", { executorKey: `0x${"4c".repeat(32)}` }],
      ["EXECUTOR_KEYSTORE", { executorKeystore: "key.json" }],
      ["EXECUTOR_SIGNER_URL", { executorSignerUrl: signerUrl }],
      ["EXECUTOR_ADDRESS", { executorAddress: first }],
    ] as const;
    for (const [name, source] of one) {
      assert.equal(
        refusal({ executorKeys, ...source }),
        `EXECUTOR_KEYS and ${name} are both set; expected one of them`,
      );
    }
  });

  test("determines the order of the keys", () => {
    const keys = [
      { signerUrl, address: second },
      { signerUrl: "http://127.0.0.1:2", address: first },
    ];
    const signers = openSigners({ executorKeys: fileOf(JSON.stringify(keys)) });
    assert.deepEqual(
      signers.map(({ address }) => address),
      [second.toLowerCase(), first],
    );
  });
});

describe("a remote signer", () => {
  const changes: Partial<UnsignedTransaction>[] = [
    { chainId: 1 },
    { nonce: 8 },
    { to: own.address },
    { data: "0x1235" },
    { gas: 90_001 },
    { maxFee: 9_000_000_001n },
    { priorityFee: 3n },
  ];
  const fieldOf: Record<string, string> = {
    maxFee: "maxFeePerGas",
    priorityFee: "maxPriorityFeePerGas",
  };
  for (const change of changes) {
    const [name = ""] = Object.keys(change);
    const message = new RegExp(`changed the transaction: ${fieldOf[name] ?? name}$`);
    test(`throws SignerRefused if the signed ${name} differs from the request`, () =>
      withRemoteSigner(
        (asked) => own.sign({ ...asAsked(asked), ...change }),
        (signer) => assert.rejects(signer.sign(wanted), refused(message)),
      ));
  }

  test("throws `SignerRefused` if another key signed", () =>
    withRemoteSigner(
      () => other.sign(wanted),
      (signer) => assert.rejects(signer.sign(wanted), refused(/^expected a signature by 0x/)),
    ));

  test("throws `SignerRefused` for a response that is not the requested transaction", async () => {
    const parsed = parseTransaction(await own.sign(wanted));
    const { r, s, yParity, ...rest } = parsed as typeof parsed & { type: "eip1559" };
    const signature = { r: r!, s: s!, yParity: yParity! };
    const high = { ...signature, s: numberToHex(curveOrder - BigInt(s!)), yParity: 1 - yParity! };
    const answers: [unknown, RegExp][] = [
      [serializeTransaction({ ...rest, value: 1n }, signature), /changed the transaction: value$/],
      [serializeTransaction(rest, high), /s above half the curve order/],
      [serializeTransaction(rest), /expected a signed .*, found \d+ characters$/],
      ["0x02", /expected a signed/],
      ["s3cret", /expected a signed .*, found 6 characters$/],
      [null, /expected a signed .*, found no text$/],
      [{ raw: "0x02" }, /expected a signed/],
    ];
    for (const [answer, message] of answers) {
      await withRemoteSigner(
        async () => answer,
        (signer) => assert.rejects(signer.sign(wanted), refused(message)),
      );
    }
  });
});
