import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hexToBigInt, numberToHex, parseTransaction, serializeTransaction } from "viem";
import { ChainUnavailable } from "../../chain/rpc/json-rpc.ts";
import { NodeError, startNode } from "../../testing/chain/node.ts";
import { curveOrder, refused, wanted } from "../../testing/executor/signing.ts";
import type { Signer, UnsignedTransaction } from "../parts.ts";
import { openSigner } from "./signer.ts";

const own = openSigner({ executorKey: `0x${"4c".repeat(32)}` });
const other = openSigner({ executorKey: `0x${"5d".repeat(32)}` });

type Params = Record<string, `0x${string}`>;

/** Signs as web3signer does, from the fields that it reads. */
const asAsked = (asked: Params): UnsignedTransaction => ({
  chainId: wanted.chainId,
  nonce: Number(asked.nonce),
  to: asked.to!,
  data: asked.data!,
  gas: Number(asked.gas),
  maxFee: hexToBigInt(asked.maxFeePerGas!),
  priorityFee: hexToBigInt(asked.maxPriorityFeePerGas!),
});

/** Runs `use` with a signer whose server answers by `answer`. */
async function withSigner(
  answer: (asked: Params) => Promise<unknown>,
  use: (signer: Signer, url: string) => Promise<void>,
) {
  const server = await startNode("", (method, params) => {
    assert.equal(method, "eth_signTransaction");
    return answer(params[0] as Params);
  });
  const executorSignerUrl = server.rpcUrl.replace("//", "//user:s3cret@");
  try {
    const signer = openSigner({ executorSignerUrl, executorAddress: own.address });
    await use(signer, executorSignerUrl);
  } finally {
    await server.stop();
  }
}

describe("a remote signer", () => {
  test("refused at start: without its address, or beside a key", () => {
    const executorSignerUrl = "http://127.0.0.1:1";
    assert.throws(() => openSigner({ executorSignerUrl }), /without EXECUTOR_ADDRESS/);
    const beside = { executorSignerUrl, executorAddress: own.address, executorKeystore: "key" };
    assert.throws(() => openSigner(beside), /EXECUTOR_KEYSTORE and EXECUTOR_SIGNER_URL are both/);
    const alone = { executorKeystore: "key", executorAddress: own.address };
    assert.throws(() => openSigner(alone), /EXECUTOR_ADDRESS is set without EXECUTOR_SIGNER_URL/);
  });

  test("SignerRefused: a signature by another key", () =>
    withSigner(
      (asked) => other.sign(asAsked(asked)),
      (signer) => assert.rejects(signer.sign(wanted), refused(/signed as 0x.*, expected 0x/)),
    ));

  const changes: Partial<UnsignedTransaction>[] = [
    { chainId: 1 },
    { nonce: 8 },
    { to: own.address },
    { data: "0x1235" },
    { gas: 90_001 },
    { maxFee: 9_000_000_001n },
    { priorityFee: 3n },
  ];
  for (const change of changes) {
    test(`SignerRefused: another ${Object.keys(change)} than asked`, () =>
      withSigner(
        (asked) => own.sign({ ...asAsked(asked), ...change }),
        (signer) => assert.rejects(signer.sign(wanted), refused(/another transaction/)),
      ));
  }

  test("SignerRefused: a value not asked, a high s, no transaction", async () => {
    const parsed = parseTransaction(await own.sign(wanted));
    const { r, s, yParity, ...rest } = parsed as typeof parsed & { type: "eip1559" };
    const signature = { r: r!, s: s!, yParity: yParity! };
    const high = { ...signature, s: numberToHex(curveOrder - BigInt(s!)), yParity: 1 - yParity! };
    const answers: [unknown, RegExp][] = [
      [serializeTransaction({ ...rest, value: 1n }, signature), /another transaction/],
      [serializeTransaction(rest, high), /high s/],
      [serializeTransaction(rest), /no signed/],
      ["0x02", /no signed/],
      ["s3cret", /no signed/],
      [null, /no signed/],
      [{ raw: "0x02" }, /no signed/],
    ];
    for (const [answer, message] of answers) {
      await withSigner(
        async () => answer,
        (signer) => assert.rejects(signer.sign(wanted), refused(message)),
      );
    }
  });

  test("SignerRefused: an error of its own, whose words are not repeated", () =>
    withSigner(
      () => Promise.reject(new NodeError(-32000, "no key s3cret")),
      (signer) => assert.rejects(signer.sign(wanted), refused(/^the signer refused with code/)),
    ));

  test("ChainUnavailable, without the URL, where it does not answer in time", () =>
    withSigner(
      () => new Promise(() => {}),
      (signer) =>
        assert.rejects(signer.sign(wanted), (error: Error) => {
          assert.ok(error instanceof ChainUnavailable);
          assert.doesNotMatch(error.message, /s3cret|127\.0\.0\.1/);
          return true;
        }),
    ));

  test("the bytes that the key itself gives, where it signs what was asked", () =>
    withSigner(
      (asked) => own.sign(asAsked(asked)),
      async (signer) => {
        assert.equal(signer.address, own.address);
        assert.equal(await signer.sign(wanted), await own.sign(wanted));
        const empty = { ...wanted, nonce: 0, priorityFee: 0n, data: "0x" as const };
        assert.equal(await signer.sign(empty), await own.sign(empty));
      },
    ));
});
