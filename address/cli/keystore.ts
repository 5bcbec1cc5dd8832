// Opens a keystore file (version 3), and signs transactions with its key. Signs with viem, which
// must be installed separately.
//
// service/executor/transactions/keystore.ts also decodes keystores, but only with scrypt. This file
// accepts PBKDF2 too, and all scrypt parameters, because the key can come from any wallet. It uses
// Noble and Web Crypto, because the library imports no Node modules.

import { scryptAsync } from "@noble/hashes/scrypt.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { pbkdf2, sha256 } from "@noble/hashes/webcrypto.js";
import { fromHex, toHex } from "../abi/hex.ts";
import { describeValue } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import { sameBytes } from "../proof/rlp.ts";

export type Signer = {
  readonly address: Hex;
  sign(transaction: Readonly<Record<string, unknown>>): Promise<{ hash: Hex; signed: Hex }>;
};

type Account = { address: Hex; signTransaction(transaction: object): Promise<Hex> };
type Keystore = {
  readonly crypto: {
    readonly cipher: string;
    readonly ciphertext: string;
    readonly cipherparams: { readonly iv: string };
    readonly kdf: string;
    readonly kdfparams: Readonly<Record<"n" | "r" | "p" | "c" | "dklen", number>> & {
      readonly salt: string;
    };
    readonly mac: string;
  };
};

/** @throws {Error} if the password is wrong or the file has a different format */
export async function openKeystore(text: string, password: string | undefined): Promise<Signer> {
  if (password === undefined)
    throw new Error("missing EXECUTABLE_ADDRESS_PASSWORD, the password of the keystore file");
  const { crypto: box } = JSON.parse(text) as Keystore;
  if (box?.cipher !== "aes-128-ctr")
    throw new Error(
      "keystore: expected a version 3 file with the cipher aes-128-ctr, found " +
        describeValue(box?.cipher),
    );
  const keccak = chooseKeccak({});
  const bytes = (hex: string) => fromHex(`0x${hex.replace(/^0x/, "")}`);
  const { kdfparams } = box;
  const [salt, dkLen] = [bytes(kdfparams.salt), kdfparams.dklen];
  const derived =
    box.kdf === "scrypt"
      ? await scryptAsync(password, salt, { N: kdfparams.n, r: kdfparams.r, p: kdfparams.p, dkLen })
      : await pbkdf2(sha256, password, salt, { c: kdfparams.c, dkLen });
  const encrypted = bytes(box.ciphertext);
  if (!sameBytes(keccak(concatBytes(derived.slice(16, 32), encrypted)), bytes(box.mac)))
    throw new Error("keystore: EXECUTABLE_ADDRESS_PASSWORD is not the password of this file");
  const aes = {
    name: "AES-CTR",
    counter: Uint8Array.from(bytes(box.cipherparams.iv)),
    length: 128,
  };
  const key = await crypto.subtle.importKey(
    "raw",
    Uint8Array.from(derived.slice(0, 16)),
    aes.name,
    false,
    ["decrypt"],
  );
  const secret = new Uint8Array(await crypto.subtle.decrypt(aes, key, Uint8Array.from(encrypted)));
  const account = (await signing()).privateKeyToAccount(toHex(secret));
  return {
    address: account.address,
    async sign(transaction) {
      const signed = await account.signTransaction({ type: "eip1559", value: 0n, ...transaction });
      return { signed, hash: toHex(keccak(fromHex(signed))) };
    },
  };
}

async function signing(): Promise<{ privateKeyToAccount(key: Hex): Account }> {
  // viem is not a dependency, because many users do not sign with the CLI.
  const name = "viem/accounts";
  return import(name).catch((cause) => {
    throw new Error("--keystore needs viem: npm install viem", { cause });
  });
}
