// A key in a file under a password: Web3 Secret Storage, version 3, with scrypt and aes-128-ctr, as
// geth and Foundry write it. Source: https://ethereum.org/developers/docs/data-structures-and-encoding/web3-secret-storage

import {
  createCipheriv,
  createDecipheriv,
  randomBytes,
  randomUUID,
  scryptSync,
  timingSafeEqual,
} from "node:crypto";
import { fromHex, type Hex, keccak256 } from "executable-address";
import { privateKeyToAddress } from "viem/accounts";

type Keystore = {
  cipher: string;
  ciphertext: string;
  cipherparams: { iv: string };
  kdf: string;
  kdfparams: { n: number; r: number; p: number; dklen: number; salt: string };
  mac: string;
};

/** geth's own: a guess of the password takes a second and 256 MB. */
const work = { n: 262_144, r: 8, p: 1, dklen: 32 };

/** The file's text. @param key `0x` and 64 hex digits */
export function encryptKey(key: Hex, password: string): string {
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
    mac: macOf(derived, ciphertext).toString("hex"),
  };
  const address = privateKeyToAddress(key).slice(2).toLowerCase();
  return `${JSON.stringify({ version: 3, id: randomUUID(), address, crypto })}\n`;
}

/** @throws an error of one sentence, with no secret, that names the setting at fault */
export function decryptKey(text: string, password: string): Hex {
  const { kdfparams, ...parsed } = parse(text);
  const derived = derive(password, kdfparams);
  const ciphertext = bytes(parsed.ciphertext);
  const mac = bytes(parsed.mac);
  if (mac.length !== 32 || !timingSafeEqual(macOf(derived, ciphertext), mac)) {
    throw new Error("EXECUTOR_PASSWORD_FILE does not hold the password of EXECUTOR_KEYSTORE");
  }
  const iv = bytes(parsed.cipherparams.iv);
  const decipher = createDecipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  return `0x${decipher.update(ciphertext).toString("hex")}`;
}

const bytes = (digits: string) => Buffer.from(fromHex(`0x${digits}`));

const macOf = (derived: Buffer, ciphertext: Buffer) =>
  Buffer.from(keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])));

function derive(password: string, { n, r, p, dklen, salt }: Keystore["kdfparams"]): Buffer {
  try {
    const options = { N: n, r, p, maxmem: 256 * n * r };
    return scryptSync(password, bytes(salt), dklen, options);
  } catch {
    // Such as n 262144 with r 1, which RFC 7914 does not allow and some libraries write.
    throw new Error(
      `EXECUTOR_KEYSTORE asks for scrypt with n ${n}, r ${r}, p ${p}, which this Node does not ` +
        "compute; expected a keystore as geth and Foundry write it, with r 8",
    );
  }
}

function parse(text: string): Keystore {
  try {
    const { crypto } = JSON.parse(text) as { crypto: Keystore };
    if (crypto.cipher === "aes-128-ctr" && crypto.kdf === "scrypt") return crypto;
  } catch {
    // Falls through to the same sentence: what the file holds is not for a log.
  }
  throw new Error("EXECUTOR_KEYSTORE is not a version 3 keystore with scrypt and aes-128-ctr");
}
