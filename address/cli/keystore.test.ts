import assert from "node:assert/strict";
import { pbkdf2Sync } from "node:crypto";
import { registerHooks } from "node:module";
import { describe, test } from "node:test";
import { keccak256, toHex } from "../index.ts";
import { openKeystore } from "./keystore.ts";

const password = "a password";
const bare = (bytes: Uint8Array) => toHex(bytes).slice(2);

function keystoreOf(secret: Uint8Array): string {
  const [salt, kdfparams] = [new Uint8Array(32), { c: 1, dklen: 32, prf: "hmac-sha256" }];
  const derived = pbkdf2Sync(password, salt, kdfparams.c, kdfparams.dklen, "sha256");
  const crypto = {
    cipher: "aes-128-ctr",
    ciphertext: bare(secret),
    cipherparams: { iv: "00".repeat(16) },
    kdf: "pbkdf2",
    kdfparams: { ...kdfparams, salt: bare(salt) },
    mac: bare(keccak256(Buffer.concat([derived.subarray(16, 32), secret]))),
  };
  return JSON.stringify({ version: 3, crypto });
}

describe("openKeystore", () => {
  const keystore = keystoreOf(new Uint8Array(32).fill(7));

  test("openKeystore rejects a wrong password and an unsupported cipher", async () => {
    await assert.rejects(openKeystore(keystore, undefined), /missing EXECUTABLE_ADDRESS_PASSWORD/);
    await assert.rejects(
      openKeystore(keystore, "another"),
      /keystore: EXECUTABLE_ADDRESS_PASSWORD is not the password of this file/,
    );
    for (const [other, found] of [
      [keystore.replace("aes-128-ctr", "aes-128-cbc"), '"aes-128-cbc"'],
      ["{}", "nothing"],
    ] as const)
      await assert.rejects(openKeystore(other, password), {
        message: `keystore: expected a version 3 file with the cipher aes-128-ctr, found ${found}`,
      });
  });

  test("openKeystore explains how to install viem if it is missing", async () => {
    const hooks = registerHooks({
      resolve(specifier, context, next) {
        if (specifier === "viem/accounts") throw new Error("not installed");
        return next(specifier, context);
      },
    });
    const expected = /--keystore needs viem: npm install viem/;
    await assert
      .rejects(openKeystore(keystore, password), expected)
      .finally(() => hooks.deregister());
    assert.match((await openKeystore(keystore, password)).address, /^0x[0-9a-fA-F]{40}$/);
  });
});
