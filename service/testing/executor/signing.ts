// What the tests of signers share: a transaction to be signed, a keystore, and stand-ins on
// loopback for what signs outside the process: web3signer, and KMS, which answers in its protocol,
// signs digests as DER with either `s`, and tells no recovery id.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Hex, hexToBigInt, hexToBytes, numberToHex, toHex } from "viem";
import { privateKeyToAccount, sign } from "viem/accounts";
import type { Signer, UnsignedTransaction } from "../../executor/parts.ts";
import { openSigner } from "../../executor/transactions/signer.ts";
import { startNode } from "../chain/node.ts";

export const key: Hex = `0x${"4c".repeat(32)}`;
export const otherKey: Hex = `0x${"5d".repeat(32)}`;
export const own = openSigner({ executorKey: key });
export const other = openSigner({ executorKey: otherKey });

export const wanted: UnsignedTransaction = {
  chainId: 8453,
  nonce: 7,
  to: "0x00000000000000000000000000000000beef0001",
  data: "0x1234",
  gas: 90_000,
  maxFee: 9_000_000_000n,
  priorityFee: 2n,
};

/** The order of secp256k1: for each `s` below it, the order less `s` signs too. */
export const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The error that a signer which refused rejects with. */
export const refused = (message: RegExp) => ({ name: "SignerRefused", message });

/** {@link key} under "open sesame" as another program writes it, ox 0.14.45. */
export const keystore = {
  version: 3,
  id: "0fa4a4d9-55fb-4fb4-8bfb-8f469731d55d",
  crypto: {
    cipher: "aes-128-ctr",
    ciphertext: "98156e8c916c543a7e52bdc949f7d6db0e8a9b3b60aa9ed2d184da1c93efa8aa",
    cipherparams: { iv: "ee728fd20070af767b500d238c630ffd" },
    kdf: "scrypt",
    kdfparams: {
      dklen: 32,
      n: 1024,
      p: 1,
      r: 8,
      salt: "d503996ddca5d19d734fc8efb19f2815fbafa409206c850d2a5d09b3967a594c",
    },
    mac: "3b89f7f99cea289650a36e2a4ea7e36e08d66918052a8e006720a72e968e0f02",
  },
};

type Use = (signer: Signer) => Promise<void>;

/** The fields that web3signer signs. */
export const asAsked = (asked: Record<string, Hex>): UnsignedTransaction => ({
  chainId: wanted.chainId,
  nonce: Number(asked.nonce),
  to: asked.to!,
  data: asked.data!,
  gas: Number(asked.gas),
  maxFee: hexToBigInt(asked.maxFeePerGas!),
  priorityFee: hexToBigInt(asked.maxPriorityFeePerGas!),
});

/** Runs `use` with a remote signer for {@link own}, whose server answers by `answer`. */
export async function withRemoteSigner(
  answer: (asked: Record<string, Hex>) => Promise<unknown>,
  use: Use,
) {
  const server = await startNode("", (method, params) => {
    assert.equal(method, "eth_signTransaction");
    return answer(params[0] as Record<string, Hex>);
  });
  const executorSignerUrl = server.rpcUrl.replace("//", "//user:s3cret@");
  const signer = openSigner({ executorSignerUrl, executorAddress: own.address });
  await use(signer).finally(server.stop);
}

export type AskedOfKms = { target: string; authorization: string; body: Record<string, string> };

/** Why tests of KMS are skipped, or false. */
export const kmsSdkMissing = await import("@aws-sdk/client-kms" as string).then(
  () => false as const,
  () => "the optional @aws-sdk/client-kms was not installed",
);

type KmsAnswer = { status?: number; json: object };

/** Runs `use` with a signer of KMS for {@link own}, whose server answers by `answer`. */
export async function withKmsSigner(answer: (asked: AskedOfKms) => Promise<KmsAnswer>, use: Use) {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { "x-amz-target": target, authorization = "" } = request.headers;
    const asked = { target: String(target), authorization, body: JSON.parse(text) };
    const { status = 200, json } = await answer(asked);
    response.writeHead(status, { "content-type": "application/x-amz-json-1.1" });
    response.end(JSON.stringify(json));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_KMS: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "s3cret",
  });
  const signer = openSigner({ executorKmsKey: "alias/gas", executorAddress: own.address });
  await use(signer).finally(() => {
    server.closeAllConnections();
    server.close();
  });
}

/** The header of every public key on secp256k1, as RFC 5480 has it, before the point. */
const spki = "3056301006072a8648ce3d020106052b8104000a034200";
let signs = 0;

/** KMS's own answer, where it holds `privateKey`: every second `s` is a high one. */
export async function answerAsKms({ target, body }: AskedOfKms, privateKey: Hex) {
  if (target === "TrentService.GetPublicKey") {
    const { publicKey } = privateKeyToAccount(privateKey);
    const PublicKey = Buffer.from(spki + publicKey.slice(2), "hex").toString("base64");
    return { json: { KeyId: body.KeyId, PublicKey } };
  }
  const hash = toHex(Buffer.from(body.Message!, "base64"));
  const { r, s } = await sign({ hash, privateKey });
  return kmsSignature(derOf(BigInt(r), signs++ % 2 ? curveOrder - BigInt(s) : BigInt(s)));
}

export const kmsSignature = (der: Uint8Array): KmsAnswer => ({
  json: { Signature: Buffer.from(der).toString("base64") },
});

/** A DER integer: as few bytes as there are, and a zero before one whose first bit is set. */
const integer = (value: bigint): Buffer => {
  const bytes = Buffer.from(hexToBytes(numberToHex(value)));
  const whole = bytes[0]! & 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes;
  return Buffer.concat([Buffer.of(2, whole.length), whole]);
};

export const derOf = (r: bigint, s: bigint): Buffer => {
  const both = Buffer.concat([integer(r), integer(s)]);
  return Buffer.concat([Buffer.of(0x30, both.length), both]);
};
