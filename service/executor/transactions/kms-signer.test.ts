// The SDK of AWS over HTTP against a stand-in for KMS, which answers in its protocol, signs digests
// as DER with either `s`, and tells no recovery id.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import {
  type Hex,
  hexToBytes,
  keccak256,
  numberToHex,
  parseTransaction,
  serializeTransaction,
  size,
  toHex,
} from "viem";
import { privateKeyToAccount, sign } from "viem/accounts";
import { curveOrder, refused, wanted } from "../../testing/executor/signing.ts";
import { eip1559Of } from "./eip1559.ts";
import { openSigner } from "./signer.ts";

const key = `0x${"4c".repeat(32)}` as const;
const account = privateKeyToAccount(key);
const executorAddress = account.address;
const other = privateKeyToAccount(`0x${"5d".repeat(32)}`).address;

/** A DER integer: as few bytes as there are, and a zero before one whose first bit is set. */
const integer = (value: bigint): Buffer => {
  const bytes = Buffer.from(hexToBytes(numberToHex(value)));
  const whole = bytes[0]! & 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes;
  return Buffer.concat([Buffer.of(2, whole.length), whole]);
};
const derOf = (r: bigint, s: bigint): Buffer => {
  const both = Buffer.concat([integer(r), integer(s)]);
  return Buffer.concat([Buffer.of(0x30, both.length), both]);
};
/** The header of every public key on secp256k1, as RFC 5480 has it, before the point. */
const spki = "3056301006072a8648ce3d020106052b8104000a034200";

type Asked = { target: string; authorization: string; body: Record<string, string> };
type Answer = { status?: number; json: object } | "none";

const asked: Asked[] = [];
let signs = 0;
async function answerAsKms({ target, body }: Asked): Promise<Answer> {
  if (target === "TrentService.GetPublicKey") {
    const PublicKey = Buffer.from(spki + account.publicKey.slice(2), "hex").toString("base64");
    return { json: { KeyId: body.KeyId, PublicKey } };
  }
  const hash = toHex(Buffer.from(body.Message!, "base64"));
  const { r, s } = await sign({ hash, privateKey: key });
  const high = signs++ % 2 === 1 ? curveOrder - BigInt(s) : BigInt(s);
  return signature(derOf(BigInt(r), high));
}
const signature = (der: Uint8Array): Answer => ({
  json: { Signature: Buffer.from(der).toString("base64") },
});

let manner: (call: Asked) => Promise<Answer> = answerAsKms;
const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const { "x-amz-target": target, authorization = "" } = request.headers;
  const call = { target: String(target), authorization, body: JSON.parse(text) };
  asked.push(call);
  const answer = await manner(call);
  if (answer === "none") return;
  response.writeHead(answer.status ?? 200, { "content-type": "application/x-amz-json-1.1" });
  response.end(JSON.stringify(answer.json));
});

const isHere = await import("@aws-sdk/client-kms" as string).then(
  () => true,
  () => false,
);
const skip = isHere ? false : "the optional @aws-sdk/client-kms was not installed";

const open = (address: string = executorAddress) =>
  openSigner({ executorKmsKey: "alias/gas", executorAddress: address });

test("a KMS key is refused at start: without its address, or beside another", () => {
  const executorKmsKey = "alias/gas";
  assert.throws(() => openSigner({ executorKmsKey }), /KMS_KEY is set without EXECUTOR_ADDRESS/);
  const beside = { executorKmsKey, executorAddress, executorSignerUrl: "http://127.0.0.1:1" };
  assert.throws(() => openSigner(beside), /EXECUTOR_SIGNER_URL and EXECUTOR_KMS_KEY are both/);
});

describe("a key of AWS KMS", { skip }, () => {
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    Object.assign(process.env, {
      AWS_ENDPOINT_URL_KMS: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "s3cret",
    });
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const withManner = async (given: typeof manner, use: () => Promise<void>) => {
    manner = given;
    await use().finally(() => {
      manner = answerAsKms;
    });
  };

  test("SignerRefused: it signs with another key, whose address is told", () =>
    assert.rejects(
      open(other).sign(wanted),
      refused(new RegExp(`its key is of ${executorAddress}$`)),
    ));

  const whole = derOf(5n, 6n);
  const malformed: [string, Uint8Array][] = [
    ["nothing", new Uint8Array()],
    ["a lone tag", whole.subarray(0, 1)],
    ["one cut", whole.subarray(0, -1)],
    ["one with a byte behind", Buffer.concat([whole, Buffer.of(0)])],
    ["one that is no sequence", Buffer.concat([Buffer.of(0x31), whole.subarray(1)])],
    ["another length", Buffer.from("30060201050201", "hex")],
    ["r and s of no bytes", Buffer.from("300402000200", "hex")],
    ["r of 0", derOf(0n, 6n)],
    ["s of 0", derOf(5n, 0n)],
    ["r of the order", derOf(curveOrder, 6n)],
    ["s above the order", derOf(5n, curveOrder + 1n)],
  ];
  for (const [name, der] of malformed) {
    test(`SignerRefused: ${name} in place of a signature`, () =>
      withManner(
        async () => signature(der),
        () => assert.rejects(open().sign(wanted), refused(/^KMS answered with no signature$/)),
      ));
  }

  test("SignerRefused: a signature of another digest", () =>
    withManner(
      (call) =>
        answerAsKms({
          ...call,
          body: { ...call.body, Message: Buffer.alloc(32, 1).toString("base64") },
        }),
      () => assert.rejects(open().sign(wanted), refused(/^KMS did not sign as/)),
    ));

  test("SignerRefused: an error of its own, whose words are not repeated", () =>
    withManner(
      async () => ({
        status: 400,
        json: { __type: "AccessDeniedException", message: "role s3cret may not" },
      }),
      () =>
        assert.rejects(open().sign(wanted), refused(/^KMS refused with AccessDeniedException$/)),
    ));

  test("SignerRefused within a lease, where it does not answer", () =>
    withManner(
      async () => "none",
      () => assert.rejects(open().sign(wanted), refused(/^KMS refused with \w+$/)),
    ));

  test("asks for the digest alone, signed with the credentials of the environment", async () => {
    asked.length = 0;
    await open().sign(wanted);
    const [{ target, authorization, body }] = asked as [Asked];
    assert.equal(target, "TrentService.Sign");
    assert.match(authorization, /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-central-1\/kms/);
    const digest = keccak256(serializeTransaction(eip1559Of(wanted)));
    assert.deepEqual(body, {
      KeyId: "alias/gas",
      Message: Buffer.from(digest.slice(2), "hex").toString("base64"),
      MessageType: "DIGEST",
      SigningAlgorithm: "ECDSA_SHA_256",
    });
  });

  test("300 transactions: the bytes that the key itself gives, also where s was high", async () => {
    const signer = open();
    const plain = openSigner({ executorKey: key });
    const sizes = new Set<number>();
    for (let nonce = 0; nonce < 300; nonce++) {
      const transaction = { ...wanted, nonce, data: nonce === 0 ? ("0x" as const) : wanted.data };
      const raw = await signer.sign(transaction);
      assert.equal(raw, await plain.sign(transaction));
      const { r, s } = parseTransaction(raw) as { r: Hex; s: Hex };
      assert.ok(BigInt(s) <= curveOrder / 2n);
      sizes.add(size(numberToHex(BigInt(r))));
    }
    assert.ok(sizes.size > 1, "no r of fewer than 32 bytes was among them");
  });
});
