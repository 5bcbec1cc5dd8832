// Opens the keys that pay gas, and signs with them. A key comes from settings, a keystore
// (keystore.ts), or a remote signer over HTTP. A file can list several keys. Keys are read once,
// kept in memory, and never appear in logs or errors. Each signature of a remote signer
// (eth_signTransaction, like web3signer) is verified before it is used.

import { fromHex, type Hex, isAddress } from "executable-address";
import type { TransactionSerializedEIP1559 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  keccak256,
  numberToHex,
  parseTransaction,
  recoverAddress,
  serializeTransaction,
} from "viem/utils";
import { z } from "zod";
import { httpEndpoint } from "../../chain/rpc/endpoint.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import type { Signer, UnsignedTransaction } from "../pass.ts";
import { readKeystore, readSecret } from "./keystore.ts";

const address = z.string().refine(isAddress);

export type KeySources = KeySource & {
  /** A JSON file that lists several keys. */
  executorKeys?: string | undefined;
};

/** Parses the file `executorKeys`. Converts each entry to the settings of a single key. */
const keysFile = z
  .array(
    z.union([
      z.strictObject({ keystore: z.string(), passwordFile: z.string() }).transform((key) => ({
        executorKeystore: key.keystore,
        executorPasswordFile: key.passwordFile,
      })),
      z
        .strictObject({ signerUrl: z.url(), address })
        .transform((key) => ({ executorSignerUrl: key.signerUrl, executorAddress: key.address })),
    ]),
  )
  .min(1);

/**
 * Opens the key that the settings specify, or all keys in the file `executorKeys`.
 *
 * @throws an error that names the wrong setting and contains no secret
 */
export function openSigners({ executorKeys, ...source }: KeySources): [Signer, ...Signer[]] {
  if (!executorKeys) return [openSigner(source)];
  const other = listKeys(source)[0] ?? (source.executorAddress && "EXECUTOR_ADDRESS");
  if (other) throw new Error(`EXECUTOR_KEYS and ${other} are both set; expected one of them`);
  const signers = readKeys(executorKeys).map(openSigner);
  const addresses = signers.map(({ address }) => address);
  const twice = addresses.find((address, index) => addresses.indexOf(address) < index);
  if (twice) throw new Error(`EXECUTOR_KEYS ${executorKeys} contains the key of ${twice} twice`);
  return signers as [Signer, ...Signer[]];
}

/** @throws an error without the file's content, because its URLs can contain passwords */
function readKeys(file: string): KeySource[] {
  const text = readSecret(file, "EXECUTOR_KEYS");
  try {
    return keysFile.parse(JSON.parse(text));
  } catch {
    throw new Error(
      `EXECUTOR_KEYS ${file} is not a list of keys; expected a JSON array of ` +
        `{"keystore", "passwordFile"} or {"signerUrl", "address"}`,
    );
  }
}

type KeySource = {
  /** `0x` and 64 hex digits. */
  executorKey?: string | undefined;
  /**
   * A Web3 Secret Storage file, version 3, with scrypt. `executorPasswordFile` contains its
   * password.
   */
  executorKeystore?: string | undefined;
  executorPasswordFile?: string | undefined;
  /** The URL of a remote signer, and the address whose key it must use. */
  executorSignerUrl?: string | undefined;
  executorAddress?: string | undefined;
};

/**
 * Opens one key.
 * @throws an error that names the wrong setting, and never shows its value
 */
export function openSigner(source: KeySource): Signer {
  refuseTwo(source);
  const { executorSignerUrl, executorAddress } = source;
  if (executorSignerUrl && executorAddress) {
    return remoteSigner(executorSignerUrl, lowerAddress(executorAddress as Hex));
  }
  return localSigner(readKey(source));
}

/** Returns the names of the settings that specify a key. */
const listKeys = ({ executorKey, executorKeystore, executorSignerUrl }: KeySource) =>
  [
    executorKey && "EXECUTOR_KEY",
    executorKeystore && "EXECUTOR_KEYSTORE",
    executorSignerUrl && "EXECUTOR_SIGNER_URL",
  ].filter(Boolean);

function refuseTwo(source: KeySource): void {
  const { executorSignerUrl } = source;
  const named = listKeys(source);
  if (named.length > 1) {
    throw new Error(`${named.slice(0, 2).join(" and ")} are both set; expected one of them`);
  }
  if (executorSignerUrl && !source.executorAddress) {
    throw new Error("EXECUTOR_SIGNER_URL requires EXECUTOR_ADDRESS, which is not set");
  }
  if (source.executorAddress && !executorSignerUrl) {
    throw new Error("EXECUTOR_ADDRESS requires EXECUTOR_SIGNER_URL, which is not set");
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
    throw new Error("EXECUTOR_KEYSTORE requires EXECUTOR_PASSWORD_FILE, which is not set");
  }
  return readKeystore(executorKeystore, executorPasswordFile);
}

/**
 * Signs with a key in this process.
 * @param key `0x` and 64 hex digits
 */
function localSigner(key: Hex): Signer {
  const account = privateKeyToAccount(key);
  return {
    address: lowerAddress(account.address),
    sign: (transaction) => account.signTransaction(toEip1559(transaction)),
  };
}

/** The remote signer refused to sign, or returned no valid signature for the transaction. */
class SignerRefused extends Error {
  override name = "SignerRefused";
}

/** The time limit for one attempt. Four attempts take less time than `leaseMsMin` (settings.ts). */
export const signerTimeoutMs = 2000;
/** The largest valid `s` in a transaction's signature (EIP-2): half of the curve's order. */
const sMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Signs with a remote signer.
 * @param url the signer's URL, which is never logged, because it can contain a password
 */
export function remoteSigner(
  url: string,
  address: Hex,
  timeoutMs: number = signerTimeoutMs,
): Signer {
  const endpoint = httpEndpoint("the signer", url, { timeoutMs });
  return {
    address,
    async sign(transaction) {
      const { chainId, nonce, to, data, gas, maxFee, priorityFee } = transaction;
      const quantities = {
        chainId: numberToHex(chainId),
        nonce: numberToHex(nonce),
        gas: numberToHex(gas),
        maxFeePerGas: numberToHex(maxFee),
        maxPriorityFeePerGas: numberToHex(priorityFee),
        value: "0x0",
      };
      const params = [{ from: address, to, data, ...quantities }];
      const [answer] = await endpoint.ask([{ method: "eth_signTransaction", params }]);
      // The signer's message is not logged, because it can quote the request.
      if (answer && "error" in answer) {
        throw new SignerRefused(`the signer returned an error with code ${answer.error.code}`);
      }
      return verifySigned(answer?.result, transaction, address);
    },
  };
}

/**
 * Returns the signed transaction if `address` signed it and its fields equal `wanted`.
 *
 * @throws {SignerRefused} otherwise
 */
async function verifySigned(raw: unknown, wanted: UnsignedTransaction, address: Hex): Promise<Hex> {
  const { signature, ...signed } = parseSigned(raw);
  const unsigned = toEip1559(wanted);
  const again = serializeTransaction(unsigned, signature);
  if (again !== raw) {
    const where = differing(unsigned, signed).join(", ") || "its encoding";
    throw new SignerRefused(`the signer changed the transaction: ${where}`);
  }
  if (BigInt(signature.s) > sMax)
    throw new SignerRefused("the signer's signature has an s above half the curve order");
  const hash = keccak256(serializeTransaction(unsigned));
  const signedBy = await recoverAddress({ hash, signature }).catch(() => "no address");
  if (signedBy.toLowerCase() !== address) {
    throw new SignerRefused(`expected a signature by ${address}, found ${signedBy}`);
  }
  return again;
}

/** Returns the names of the fields in which two transactions differ. */
function differing(wanted: Record<string, unknown>, signed: Record<string, unknown>): string[] {
  const toText = (value: unknown) => String(value).toLowerCase();
  const names = Object.keys({ ...wanted, ...signed });
  return names.filter((name) => toText(wanted[name]) !== toText(signed[name]));
}

function parseSigned(raw: unknown) {
  try {
    fromHex(raw as string);
    const {
      r,
      s,
      v: _,
      yParity,
      ...signed
    } = parseTransaction(raw as TransactionSerializedEIP1559);
    if (r && s && yParity !== undefined) return { ...signed, signature: { r, s, yParity } };
  } catch {
    // The error below does not quote the answer, which must not be logged.
  }
  const found = typeof raw === "string" ? `${raw.length} characters` : "no text";
  throw new SignerRefused(`expected a signed EIP-1559 transaction from the signer, found ${found}`);
}

/** Converts a transaction to the fields that viem signs and serializes. */
const toEip1559 = ({ maxFee, priorityFee, gas, ...rest }: UnsignedTransaction) => ({
  ...rest,
  type: "eip1559" as const,
  gas: BigInt(gas),
  maxFeePerGas: maxFee,
  maxPriorityFeePerGas: priorityFee,
});
