import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openSigners } from "./keys-file.ts";

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
      { executorKey: `0x${"4c".repeat(32)}` },
      { executorKeystore: "key.json" },
      { executorSignerUrl: signerUrl },
      { executorAddress: first },
    ];
    for (const source of one) {
      assert.match(
        refusal({ executorKeys, ...source }),
        /EXECUTOR_KEYS and another key setting are both set/,
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
