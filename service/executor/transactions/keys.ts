// The keys that pay gas: the one of the settings, or several that a file names.

import { isAddress } from "executable-address";
import { z } from "zod";
import type { Signer } from "../parts.ts";
import { type KeySource, openSigner, readSecret } from "./signer.ts";

const address = z.string().refine(isAddress);

export type KeySources = KeySource & {
  /** A JSON file that names several keys. */
  executorKeys?: string | undefined;
};

/** Each key of the file, by one form of source, as the settings of the same names have them. */
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

/** The one key of the settings, or those of the file. @throws as {@link openSigner} does */
export function openSigners({ executorKeys, ...source }: KeySources): [Signer, ...Signer[]] {
  if (!executorKeys) return [openSigner(source)];
  const { executorKey, executorKeystore, executorSignerUrl, executorAddress } = source;
  if (executorKey || executorKeystore || executorSignerUrl || executorAddress) {
    throw new Error("EXECUTOR_KEYS is set beside another key; expected it alone");
  }
  const signers = readKeys(executorKeys).map(openSigner);
  const addresses = signers.map(({ address }) => address);
  const twice = addresses.find((address, index) => addresses.indexOf(address) < index);
  if (twice) throw new Error(`EXECUTOR_KEYS ${executorKeys} names the key of ${twice} twice`);
  return signers as [Signer, ...Signer[]];
}

/** @throws an error that shows nothing of the file, since a URL may hold a password */
function readKeys(file: string): KeySource[] {
  const text = readSecret(file, "EXECUTOR_KEYS");
  try {
    return keysFile.parse(JSON.parse(text));
  } catch {
    throw new Error(
      `EXECUTOR_KEYS ${file} is no list of keys; expected a JSON array of ` +
        `{"keystore", "passwordFile"} or {"signerUrl", "address"}`,
    );
  }
}
