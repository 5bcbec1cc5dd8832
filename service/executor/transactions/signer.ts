// Opens a key that pays gas, from settings, a keystore (keystore.ts), or a remote signer
// (remote-signer.ts). Keys are read once, kept in memory, and never appear in logs or errors.

import type { Hex } from "executable-address";
import { privateKeyToAccount } from "viem/accounts";
import { lowerAddress } from "../../flow/lower-address.ts";
import type { Signer } from "../pass.ts";
import { readKeystore } from "./keystore.ts";
import { remoteSigner, toEip1559 } from "./remote-signer.ts";

export type KeySource = {
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
