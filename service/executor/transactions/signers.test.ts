// Tests every kind of signer: a key in the process, a keystore, and a remote signer.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { privateKeyToAccount } from "viem/accounts";
import { NodeError } from "../../testing/chain/node.ts";
import {
  asAsked,
  key,
  keystore,
  other,
  own,
  refused,
  wanted,
  withRemoteSigner,
} from "../../testing/executor/signing.ts";
import type { Signer } from "../pass.ts";
import { leaseMsMin } from "../settings.ts";
import { openSigner, signerTimeoutMs } from "./signer.ts";

const folder = mkdtempSync(join(tmpdir(), "signers-"));
after(() => rmSync(folder, { recursive: true }));
const executorKeystore = join(folder, "keystore");
const executorPasswordFile = join(folder, "password");
writeFileSync(executorKeystore, JSON.stringify(keystore));
writeFileSync(executorPasswordFile, "open sesame\n");

/** How the remote server behaves: it signs with a key, refuses, or does not answer. */
type Outside = Signer | "refuses" | "is silent";
type Implementation = {
  name: string;
  /** The signer's error if its server refuses to sign; undefined for signers without a server. */
  refusal?: RegExp;
  using(outside: Outside, use: (signer: Signer) => Promise<void>): Promise<void>;
};

const signers: Implementation[] = [
  {
    name: "a key in the environment",
    using: (_, use) => use(openSigner({ executorKey: key })),
  },
  {
    name: "a keystore",
    using: (_, use) => use(openSigner({ executorKeystore, executorPasswordFile })),
  },
  {
    name: "a remote server",
    refusal: /^the signer returned an error with code -32000$/,
    using: (outside, use) =>
      withRemoteSigner(
        async (asked) => {
          if (outside === "is silent") return new Promise(() => {});
          if (outside === "refuses") throw new NodeError(-32000, "role s3cret may not");
          return outside.sign(asAsked(asked));
        },
        use,
        outside === "is silent" ? signerTimeoutMs : undefined,
      ),
  },
];

for (const { name, refusal, using } of signers) {
  describe(`a signer with ${name}`, () => {
    if (refusal !== undefined) {
      test("throws `SignerRefused` with the signer's address if the wrong key signed", () =>
        using(other, (signer) =>
          assert.rejects(signer.sign(wanted), refused(new RegExp(other.address, "i"))),
        ));

      test("throws `SignerRefused` without the server's message if the server refuses", () =>
        using("refuses", (signer) => assert.rejects(signer.sign(wanted), refused(refusal))));

      test("stops waiting for a silent server before the executor's lease expires", () =>
        using("is silent", async (signer) => {
          const askedAtMs = performance.now();
          await assert.rejects(signer.sign(wanted), ({ name, message }: Error) => {
            assert.match(name, /^(SignerRefused|ChainUnavailable)$/);
            assert.doesNotMatch(message, /s3cret|127\.0\.0\.1/);
            return true;
          });
          assert.ok(performance.now() - askedAtMs < leaseMsMin);
        }));
    }

    test("has a lowercase address and signs like a local key", () =>
      using(own, async (signer) => {
        const account = privateKeyToAccount(key);
        assert.equal(signer.address, account.address.toLowerCase());
        const empty = { ...wanted, nonce: 0, priorityFee: 0n, data: "0x" as const };
        for (const transaction of [wanted, empty, { ...wanted, nonce: 8 }]) {
          const { maxFee, priorityFee, gas, ...rest } = transaction;
          const fees = { maxFeePerGas: maxFee, maxPriorityFeePerGas: priorityFee };
          const plain = { ...rest, ...fees, gas: BigInt(gas), type: "eip1559" as const };
          assert.equal(await signer.sign(transaction), await account.signTransaction(plain));
        }
      }));
  });
}
