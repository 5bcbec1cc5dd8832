// A key that never leaves AWS KMS: it signs digests, by Amazon's SDK, which is an optional
// dependency. What it gives back is believed only once it recovers to the executor's address.

import type { Hex } from "executable-address";
import { publicKeyToAddress } from "viem/accounts";
import {
  keccak256,
  numberToHex,
  recoverAddress,
  serializeTransaction,
  toBytes,
  toHex,
} from "viem/utils";
import type { Signer } from "../parts.ts";
import { eip1559Of } from "./eip1559.ts";
import { SignerRefused, sMax } from "./remote-signer.ts";

/** It covers the SDK's second attempt too, and ends before a lease does. */
const timeoutMs = 4000;

/** @param keyId an id, ARN or alias of a key of ECC_SECG_P256K1; region and credentials are found
 * by the SDK, in the environment or where the machine runs */
export function kmsSigner(keyId: string, address: Hex): Signer {
  let opened: Promise<Kms> | undefined;
  const ask = async (command: "SignCommand" | "GetPublicKeyCommand", more: object) => {
    opened ??= openKms();
    const { sdk, client } = await opened;
    const abortSignal = AbortSignal.timeout(timeoutMs);
    try {
      return await client.send(new sdk[command]({ KeyId: keyId, ...more }), { abortSignal });
    } catch (error) {
      // KMS's own words are left out of the log: they name accounts and roles.
      throw new SignerRefused(`KMS refused with ${(error as Error).name}`);
    }
  };
  return {
    address,
    async sign(transaction) {
      const unsigned = eip1559Of(transaction);
      const hash = keccak256(serializeTransaction(unsigned));
      const { Signature } = await ask("SignCommand", {
        Message: toBytes(hash),
        MessageType: "DIGEST",
        SigningAlgorithm: "ECDSA_SHA_256",
      });
      const rs = signatureIn(Signature);
      // KMS tells no recovery id, so both are tried.
      for (const yParity of [0, 1]) {
        const signature = { ...rs, yParity };
        const signedBy = await recoverAddress({ hash, signature }).catch(() => "no address");
        if (signedBy.toLowerCase() === address) return serializeTransaction(unsigned, signature);
      }
      const { PublicKey } = await ask("GetPublicKeyCommand", {});
      const signedBy = addressIn(PublicKey);
      throw new SignerRefused(`KMS did not sign as ${address}; its key is of ${signedBy}`);
    },
  };
}

type Answer = { Signature?: Uint8Array; PublicKey?: Uint8Array };
type Sdk = Record<"SignCommand" | "GetPublicKeyCommand", new (input: object) => object> & {
  KMSClient: new (options: object) => { send(command: object, options: object): Promise<Answer> };
};
type Kms = { sdk: Sdk; client: InstanceType<Sdk["KMSClient"]> };

/** @throws an error of one sentence where the SDK was left out of the installation */
async function openKms(): Promise<Kms> {
  const name = "@aws-sdk/client-kms";
  const sdk: Sdk = await import(name).catch(() => {
    throw new Error(`EXECUTOR_KMS_KEY needs the optional dependency ${name}, which is not here`);
  });
  return { sdk, client: new sdk.KMSClient({ maxAttempts: 2 }) };
}

/** The order of secp256k1's group. */
const order = 2n * sMax + 1n;

/**
 * The two integers of a DER signature. KMS gives either of the two `s` that are right, and a block
 * takes the lower one alone (EIP-2).
 * @throws {SignerRefused}
 */
function signatureIn(der: Uint8Array = new Uint8Array()): { r: Hex; s: Hex } {
  const rEnd = 4 + (der[3] ?? 0);
  const sEnd = rEnd + 2 + (der[rEnd + 1] ?? 0);
  const isDer = der[0] === 0x30 && der[1] === der.length - 2 && der[2] === 2 && der[rEnd] === 2;
  const [r, s] = [der.slice(4, rEnd), der.slice(rEnd + 2, sEnd)].map((each) =>
    each.length > 0 ? BigInt(toHex(each)) : 0n,
  ) as [bigint, bigint];
  if (!isDer || sEnd !== der.length || r === 0n || r >= order || s === 0n || s >= order) {
    throw new SignerRefused(`KMS answered with ${der.length} bytes that are no signature`);
  }
  const low = s > sMax ? order - s : s;
  return { r: numberToHex(r, { size: 32 }), s: numberToHex(low, { size: 32 }) };
}

/** A DER public key ends with the point, uncompressed: 65 bytes. */
function addressIn(der: Uint8Array = new Uint8Array()): string {
  return der.length < 65 ? "another address" : publicKeyToAddress(toHex(der.slice(-65)));
}
