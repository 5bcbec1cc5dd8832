// The hot key: read once, kept in memory, and nowhere in a log or an error.

import { createDecipheriv, scryptSync, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { fromHex, type Hex, keccak256 } from "executable-address";
import { privateKeyToAccount } from "viem/accounts";
import type { Signer } from "../parts.ts";

export type KeySource = {
  /** `0x` and 64 hex digits. */
  executorKey?: string | undefined;
  /** A Web3 Secret Storage file, version 3, with scrypt, and the file of its password. */
  executorKeystore?: string | undefined;
  executorPasswordFile?: string | undefined;
};

/** @throws an error of one sentence that says which setting is at fault, never what it holds */
export function openSigner(source: KeySource): Signer {
  const account = privateKeyToAccount(readKey(source));
  return {
    address: account.address.toLowerCase() as Hex,
    sign: ({ maxFee, priorityFee, gas, ...rest }) =>
      account.signTransaction({
        ...rest,
        type: "eip1559",
        gas: BigInt(gas),
        maxFeePerGas: maxFee,
        maxPriorityFeePerGas: priorityFee,
      }),
  };
}

function readKey({ executorKey, executorKeystore, executorPasswordFile }: KeySource): Hex {
  if (executorKey && executorKeystore) {
    throw new Error("EXECUTOR_KEY and EXECUTOR_KEYSTORE are both set; expected one of them");
  }
  if (executorKey) return executorKey as Hex;
  if (!executorKeystore) {
    throw new Error(
      "the executor has no key; set EXECUTOR_KEY, or EXECUTOR_KEYSTORE with EXECUTOR_PASSWORD_FILE",
    );
  }
  if (!executorPasswordFile) {
    throw new Error("EXECUTOR_KEYSTORE is set without EXECUTOR_PASSWORD_FILE");
  }
  const password = readSecret(executorPasswordFile, "EXECUTOR_PASSWORD_FILE").replace(/\r?\n$/, "");
  return decrypt(readSecret(executorKeystore, "EXECUTOR_KEYSTORE"), password);
}

function readSecret(file: string, name: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${name} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

type Keystore = {
  crypto: {
    cipher: string;
    ciphertext: string;
    cipherparams: { iv: string };
    kdf: string;
    kdfparams: { n: number; r: number; p: number; dklen: number; salt: string };
    mac: string;
  };
};

/** What geth's and Foundry's `keystore` files use by default; nothing else is taken. */
function decrypt(text: string, password: string): Hex {
  const parsed = parseKeystore(text);
  const { n, r, p, dklen, salt } = parsed.kdfparams;
  const bytes = (digits: string) => Buffer.from(fromHex(`0x${digits}`));
  const maxmem = 256 * n * r;
  const derived = scryptSync(password, bytes(salt), dklen, { N: n, r, p, maxmem });
  const ciphertext = bytes(parsed.ciphertext);
  const mac = keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext]));
  if (!timingSafeEqual(mac, bytes(parsed.mac))) {
    throw new Error("EXECUTOR_PASSWORD_FILE does not hold the password of EXECUTOR_KEYSTORE");
  }
  const iv = bytes(parsed.cipherparams.iv);
  const decipher = createDecipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  return `0x${Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString("hex")}`;
}

function parseKeystore(text: string): Keystore["crypto"] {
  try {
    const { crypto } = JSON.parse(text) as Keystore;
    if (crypto.cipher === "aes-128-ctr" && crypto.kdf === "scrypt") return crypto;
  } catch {
    // Falls through to the same sentence: what the file holds is not for a log.
  }
  throw new Error("EXECUTOR_KEYSTORE is not a version 3 keystore with scrypt and aes-128-ctr");
}
