// Opens all keys that pay gas: the key that the settings specify, or the keys that a file lists.

import { isAddress } from "executable-address";
import { z } from "zod";
import type { Signer } from "../pass.ts";
import { readSecret } from "./keystore.ts";
import { type KeySource, openSigner } from "./signer.ts";

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
  const { executorKey, executorKeystore, executorSignerUrl, executorAddress } = source;
  if (executorKey || executorKeystore || executorSignerUrl || executorAddress) {
    throw new Error("EXECUTOR_KEYS and another key setting are both set; expected one of them");
  }
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
