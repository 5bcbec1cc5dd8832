// Reads and writes keystores, the files with encrypted keys. The format is Web3 Secret Storage,
// version 3, with scrypt and aes-128-ctr, like geth and Foundry:
// https://ethereum.org/developers/docs/data-structures-and-encoding/web3-secret-storage
//
// address/cli/keystore.ts also decodes keystores, but asynchronously, and in more variants. The
// executor reads its key synchronously, and its errors name settings and quote no secret.

import {
  createCipheriv,
  createDecipheriv,
  randomBytes,
  randomUUID,
  scryptSync,
  timingSafeEqual,
} from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fromHex, type Hex, keccak256 } from "executable-address";
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { lowerAddress } from "../../flow/lower-address.ts";

/**
 * Reads the key in the file `keystore`.
 *
 * @throws an error that names the invalid setting and contains no secret
 */
export function readKeystore(keystore: string, passwordFile: string): Hex {
  const password = trimLineFeed(readSecret(passwordFile, "EXECUTOR_PASSWORD_FILE"));
  return decryptKey(readSecret(keystore, "EXECUTOR_KEYSTORE"), password);
}

/**
 * Creates a random key in the file `keystore`, encrypted with the password in `passwordFile`. If
 * `passwordFile` does not exist, writes a random password to this file first. Only the owner of the
 * files can read them.
 *
 * @returns the address that pays gas, lowercase
 * @throws {Error} if `keystore` exists, because no key is ever overwritten
 */
export function writeNewKey(keystore: string, passwordFile: string): Hex {
  if (existsSync(keystore))
    throw new Error(`${keystore} already exists, and keys are never overwritten`);
  const isNew = { flag: "wx", mode: 0o600 };
  if (!existsSync(passwordFile)) {
    writeFileSync(passwordFile, `${randomBytes(32).toString("hex")}\n`, isNew);
  }
  const password = trimLineFeed(readSecret(passwordFile, "--password-file"));
  if (password === "") throw new Error(`--password-file ${passwordFile} contains no password`);
  const key = generatePrivateKey();
  writeFileSync(keystore, encryptKey(key, password), isNew);
  return lowerAddress(privateKeyToAccount(key).address);
}

/**
 * Reads a file that contains a secret.
 *
 * @param name the name of the setting or option, for the error message
 */
export function readSecret(file: string, name: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${name} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

const trimLineFeed = (text: string) => text.replace(/\r?\n$/, "");

type Keystore = {
  cipher: string;
  ciphertext: string;
  cipherparams: { iv: string };
  kdf: string;
  kdfparams: { n: number; r: number; p: number; dklen: number; salt: string };
  mac: string;
};

/** geth's parameters: each guess of the password needs 256 MB of memory. */
const work = { n: 262_144, r: 8, p: 1, dklen: 32 };

/**
 * Returns a keystore with the encrypted key.
 * @param key `0x` and 64 hex digits
 */
function encryptKey(key: Hex, password: string): string {
  const kdfparams = { ...work, salt: randomBytes(32).toString("hex") };
  const iv = randomBytes(16);
  const derived = derive(password, kdfparams);
  const cipher = createCipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  const ciphertext = cipher.update(fromHex(key));
  const crypto: Keystore = {
    cipher: "aes-128-ctr",
    ciphertext: ciphertext.toString("hex"),
    cipherparams: { iv: iv.toString("hex") },
    kdf: "scrypt",
    kdfparams,
    mac: computeMac(derived, ciphertext).toString("hex"),
  };
  const address = privateKeyToAddress(key).slice(2).toLowerCase();
  return `${JSON.stringify({ version: 3, id: randomUUID(), address, crypto })}\n`;
}

/** @throws an error that names the invalid setting and contains no secret */
function decryptKey(text: string, password: string): Hex {
  const { kdfparams, ...parsed } = parse(text);
  const derived = derive(password, kdfparams);
  const ciphertext = bytes(parsed.ciphertext);
  const mac = bytes(parsed.mac);
  if (mac.length !== 32 || !timingSafeEqual(computeMac(derived, ciphertext), mac)) {
    throw new Error("EXECUTOR_PASSWORD_FILE does not contain the password of EXECUTOR_KEYSTORE");
  }
  const iv = bytes(parsed.cipherparams.iv);
  const decipher = createDecipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  return `0x${decipher.update(ciphertext).toString("hex")}`;
}

const bytes = (digits: string) => Buffer.from(fromHex(`0x${digits}`));

const computeMac = (derived: Buffer, ciphertext: Buffer) =>
  Buffer.from(keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])));

function derive(password: string, { n, r, p, dklen, salt }: Keystore["kdfparams"]): Buffer {
  try {
    const options = { N: n, r, p, maxmem: 256 * n * r };
    return scryptSync(password, bytes(salt), dklen, options);
  } catch {
    // Node.js accepts only parameters that RFC 7914 allows. Some libraries write keystores with
    // other parameters, for example n = 262144 and r = 1.
    throw new Error(
      `EXECUTOR_KEYSTORE uses scrypt with n ${n}, r ${r}, p ${p}, which Node does not ` +
        "support; expected a keystore from geth or Foundry, with r 8",
    );
  }
}

function parse(text: string): Keystore {
  let found = "other content";
  try {
    const { crypto } = JSON.parse(text) as { crypto: Keystore };
    const { cipher, kdf } = crypto;
    if (cipher === "aes-128-ctr" && kdf === "scrypt") return crypto;
    found = `${algorithmName(kdf)} and ${algorithmName(cipher)}`;
  } catch {
    // The error does not quote the file, because the file can contain a different secret.
  }
  throw new Error(
    "EXECUTOR_KEYSTORE is not a version 3 keystore with scrypt and aes-128-ctr; " +
      `found ${found}`,
  );
}

/** Quotes a short text, such as the name of an algorithm. A longer text could be a secret. */
const algorithmName = (found: unknown) =>
  typeof found === "string" && /^[\w-]{1,20}$/.test(found) ? `"${found}"` : "no name";
