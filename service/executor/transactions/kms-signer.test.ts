// The SDK of AWS over HTTP against a stand-in for KMS.

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { describe, test } from "node:test";
import {
  type Hex,
  keccak256,
  numberToHex,
  parseTransaction,
  serializeTransaction,
  size,
} from "viem";
import {
  type AskedOfKms,
  answerAsKms,
  curveOrder,
  derOf,
  key,
  kmsSdkMissing,
  kmsSignature,
  own,
  refused,
  wanted,
  withKmsSigner,
} from "../../testing/executor/signing.ts";
import { eip1559Of } from "./eip1559.ts";
import { openSigner } from "./signer.ts";

test("says what to install where the SDK is not, before anything is asked", async () => {
  const sdk = "@aws-sdk/client-kms";
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === sdk) throw new Error("not installed");
      return next(specifier, context);
    },
  });
  const signer = openSigner({ executorKmsKey: "alias/gas", executorAddress: own.address });
  const message = `EXECUTOR_KMS_KEY needs the optional dependency ${sdk}, which is not here`;
  await assert.rejects(signer.sign(wanted), { message }).finally(() => hooks.deregister());
});

describe("a key of AWS KMS", { skip: kmsSdkMissing }, () => {
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
      withKmsSigner(
        async () => kmsSignature(der),
        (signer) =>
          assert.rejects(
            signer.sign(wanted),
            refused(new RegExp(`^KMS answered with ${der.length} bytes that are no signature$`)),
          ),
      ));
  }

  test("SignerRefused: a signature of another digest", () => {
    const Message = Buffer.alloc(32, 1).toString("base64");
    return withKmsSigner(
      (asked) => answerAsKms({ ...asked, body: { ...asked.body, Message } }, key),
      (signer) => assert.rejects(signer.sign(wanted), refused(/^KMS did not sign as/)),
    );
  });

  test("asks for the digest alone, signed with the credentials of the environment", () => {
    const calls: AskedOfKms[] = [];
    return withKmsSigner(
      (asked) => {
        calls.push(asked);
        return answerAsKms(asked, key);
      },
      async (signer) => {
        await signer.sign(wanted);
        const [{ target, authorization, body }] = calls as [AskedOfKms];
        assert.equal(target, "TrentService.Sign");
        const credential = /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-central-1\/kms/;
        assert.match(authorization, credential);
        const digest = keccak256(serializeTransaction(eip1559Of(wanted)));
        assert.deepEqual(body, {
          KeyId: "alias/gas",
          Message: Buffer.from(digest.slice(2), "hex").toString("base64"),
          MessageType: "DIGEST",
          SigningAlgorithm: "ECDSA_SHA_256",
        });
      },
    );
  });

  test("the bytes that the key gives, also where s was high or r has 31 or 30 bytes", () =>
    withKmsSigner(
      (asked) => answerAsKms(asked, key),
      async (signer) => {
        for (const [nonce, rBytes] of [
          [7, 32],
          [8, 31],
          [409, 30],
        ] as const) {
          const raw = await own.sign({ ...wanted, nonce });
          const { r, s } = parseTransaction(raw) as { r: Hex; s: Hex };
          assert.equal(size(numberToHex(BigInt(r))), rBytes);
          assert.ok(BigInt(s) <= curveOrder / 2n);
          // The stand-in gives the low and the high s by turns.
          for (let turn = 0; turn < 2; turn++) {
            assert.equal(await signer.sign({ ...wanted, nonce }), raw);
          }
        }
      },
    ));
});
