import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  apiKeyPrefix,
  digestOf,
  isApiKey,
  isClientId,
  newAccountId,
  newApiKey,
  newClientId,
} from "./credentials.ts";

describe("credentials", () => {
  const hex = (digits: number) => "0123456789abcdef".repeat(4).slice(0, digits);

  test("what is not spelled as issued is neither an API key nor a client ID", () => {
    const texts = [
      "",
      "svc_sk_",
      `svc_sk_${hex(63)}`,
      `svc_sk_${hex(64)}0`,
      `svc_sk_${hex(64).toUpperCase()}`,
      `SVC_SK_${hex(64)}`,
      ` svc_sk_${hex(64)}`,
      `svc_sk_${hex(64)}\n`,
      `svc_sk_${hex(63)}g`,
      "svc_client_",
      `svc_client_${hex(31)}`,
      `svc_client_${hex(32)}0`,
      `svc_client_${hex(32).toUpperCase()}`,
      `svc_client_${hex(32)}\n`,
    ];
    for (const text of texts) {
      assert.equal(isApiKey(text), false, text);
      assert.equal(isClientId(text), false, text);
    }
    assert.equal(isApiKey(newClientId()), false);
    assert.equal(isClientId(newApiKey()), false);
  });

  test("an API key is svc_sk_ and 64 hex digits, a client ID svc_client_ and 32", () => {
    assert.match(newApiKey(), /^svc_sk_[0-9a-f]{64}$/);
    assert.match(newClientId(), /^svc_client_[0-9a-f]{32}$/);
    assert.match(newAccountId(), /^acc_[0-9a-f]{24}$/);
    assert.ok(isApiKey(newApiKey()));
    assert.ok(isClientId(newClientId()));
  });

  test("no two are alike", () => {
    const made = Array.from({ length: 1000 }, () => [newApiKey(), newClientId(), newAccountId()]);
    assert.equal(new Set(made.flat()).size, 3000);
  });

  test("the prefix is the first 15 characters", () => {
    assert.equal(apiKeyPrefix(`svc_sk_${hex(64)}`), "svc_sk_01234567");
  });

  test("the digest is SHA-256 of the text", () => {
    assert.equal(
      digestOf("abc").toString("hex"),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});
