// The signer is a key, read once, kept in memory and in no log or error, or a key elsewhere.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Hex } from "executable-address";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Signer } from "../parts.ts";
import { eip1559Of } from "./eip1559.ts";
import { decryptKey, encryptKey } from "./keystore.ts";
import { remoteSigner } from "./remote-signer.ts";

export type KeySource = {
  /** `0x` and 64 hex digits. */
  executorKey?: string | undefined;
  /** A Web3 Secret Storage file, version 3, with scrypt, and the file of its password. */
  executorKeystore?: string | undefined;
  executorPasswordFile?: string | undefined;
  /** The URL of a remote signer, and the address that it is to sign as. */
  executorSignerUrl?: string | undefined;
  executorAddress?: string | undefined;
};

/** @throws an error of one sentence that says which setting is at fault, never what it holds */
export function openSigner(source: KeySource): Signer {
  refuseTwo(source);
  const { executorSignerUrl } = source;
  const address = source.executorAddress?.toLowerCase() as Hex;
  if (executorSignerUrl) return remoteSigner(executorSignerUrl, address);
  const account = privateKeyToAccount(readKey(source));
  return {
    address: account.address.toLowerCase() as Hex,
    sign: (transaction) => account.signTransaction(eip1559Of(transaction)),
  };
}

/**
 * Draws a key into `keystore`, under the password in `passwordFile`; where that is missing, one is
 * drawn into it. Both are their owner's alone.
 *
 * @returns the address that pays gas, lower case
 * @throws where `keystore` is there: no key is ever overwritten
 */
export function writeNewKey(keystore: string, passwordFile: string): Hex {
  if (existsSync(keystore)) throw new Error(`${keystore} is there, and no key is overwritten`);
  const isNew = { flag: "wx", mode: 0o600 };
  if (!existsSync(passwordFile)) {
    writeFileSync(passwordFile, `${randomBytes(32).toString("hex")}\n`, isNew);
  }
  const password = passwordOf(readSecret(passwordFile, "--password-file"));
  if (password === "") throw new Error(`--password-file ${passwordFile} holds no password`);
  const key = generatePrivateKey();
  writeFileSync(keystore, encryptKey(key, password), isNew);
  return privateKeyToAccount(key).address.toLowerCase() as Hex;
}

function refuseTwo(source: KeySource): void {
  const { executorKey, executorKeystore, executorSignerUrl } = source;
  const named = [
    executorKey && "EXECUTOR_KEY",
    executorKeystore && "EXECUTOR_KEYSTORE",
    executorSignerUrl && "EXECUTOR_SIGNER_URL",
  ].filter(Boolean);
  if (named.length > 1) {
    throw new Error(`${named.slice(0, 2).join(" and ")} are both set; expected one of them`);
  }
  if (executorSignerUrl && !source.executorAddress) {
    throw new Error("EXECUTOR_SIGNER_URL is set without EXECUTOR_ADDRESS");
  }
  if (source.executorAddress && !executorSignerUrl) {
    throw new Error("EXECUTOR_ADDRESS is set without EXECUTOR_SIGNER_URL");
  }
}

function readKey({ executorKey, executorKeystore, executorPasswordFile }: KeySource): Hex {
  if (executorKey) return executorKey as Hex;
  if (!executorKeystore) {
    throw new Error(
      "the executor has no key; set EXECUTOR_KEY, or EXECUTOR_KEYSTORE with " +
        "EXECUTOR_PASSWORD_FILE, or EXECUTOR_SIGNER_URL with EXECUTOR_ADDRESS",
    );
  }
  if (!executorPasswordFile) {
    throw new Error("EXECUTOR_KEYSTORE is set without EXECUTOR_PASSWORD_FILE");
  }
  const password = passwordOf(readSecret(executorPasswordFile, "EXECUTOR_PASSWORD_FILE"));
  return decryptKey(readSecret(executorKeystore, "EXECUTOR_KEYSTORE"), password);
}

export function readSecret(file: string, name: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${name} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Editors end a file with a line feed, which is no part of the password. */
const passwordOf = (text: string) => text.replace(/\r?\n$/, "");
