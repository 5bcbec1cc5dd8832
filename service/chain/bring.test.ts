// Tests the command that deploys the missing contracts. The first test chain has no contracts
// initially. The second chain has only the deterministic deployer. The third chain lacks the
// required hard fork.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { factoryAddress } from "executable-address-contracts";
import { anvilChain, anvilKeys, startAnvil } from "executable-address-contracts/anvil";
import { createPublicClient, type Hex, http } from "viem";
import { startProxy } from "../testing/executor/rpc-proxy.ts";
import { bring, estimateBring, readBringKey } from "./bring.ts";
import { missingPeriphery } from "./check.ts";
import { openChainRpc } from "./rpc/chain-rpc.ts";

/** This private key is public, because it is the first key in anvil's default configuration. */
const key: Hex = anvilKeys[0];
const bare = "--disable-default-create2-deployer";
const chain = await startAnvil({ args: [bare] });
const withDeployer = await startAnvil();
const shanghai = await startAnvil({ args: [bare, "--hardfork", "shanghai"] });
after(() => Promise.all([chain, withDeployer, shanghai].map((each) => each.stop())));

const noKey = (): Hex => {
  throw new Error("no key");
};
const codeAt = (rpcUrl: string) =>
  createPublicClient({ chain: anvilChain, transport: http(rpcUrl) }).getCode({
    address: factoryAddress,
  });
const was = ({ deployer, factory, periphery }: Awaited<ReturnType<typeof bring>>) => [
  deployer.was,
  factory.was,
  ...new Set(Object.values(periphery).map((each) => each.was)),
];

test("names the contract whose gas the node refuses to estimate", async () => {
  const refusing = await startProxy(withDeployer.rpcUrl, ({ method }, answer) =>
    method === "eth_estimateGas"
      ? { ...answer, result: undefined, error: { code: -32_000, message: "no estimates here" } }
      : answer,
  );
  const reader = createPublicClient({ chain: anvilChain, transport: http(refusing.url) });
  const payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
  const estimate = estimateBring(reader, openChainRpc([refusing.url]), payer);
  const message = "the gas for deploying factory cannot be estimated: no estimates here";
  await assert.rejects(estimate, { message });
  await refusing.stop();
});

describe("`chain bring`", () => {
  test("refuses a chain that does not support the MCOPY instruction", async () => {
    await assert.rejects(
      bring(shanghai.rpcUrl, () => key),
      /does not support MCOPY/,
    );
  });

  test("omits the URL from its error if the URL is invalid or does not respond", async () => {
    await assert.rejects(
      bring("ftp://x", () => key),
      { message: "--rpc: expected an http or https URL, found other text (7 characters)" },
    );
    const silent = bring("http://127.0.0.1:9/secret-key", () => key);
    await assert.rejects(silent, (error: Error) => !error.message.includes("secret-key"));
  });

  test("requires a private key if a contract is missing", async () => {
    await assert.rejects(bring(chain.rpcUrl, noKey), /no key/);
    assert.equal(await codeAt(chain.rpcUrl), undefined);
    const missing = await missingPeriphery(openChainRpc([chain.rpcUrl]));
    assert.deepEqual(missing, ["collector", "conditions", "guards", "outcomeProof", "tip"]);
  });

  test("deploys all contracts on an empty chain", async () => {
    const brought = await bring(chain.rpcUrl, () => key);
    assert.deepEqual(was(brought), ["brought", "brought", "brought"]);
    assert.equal(brought.chainId, 31337);
    assert.ok(await codeAt(chain.rpcUrl));
    assert.deepEqual(await missingPeriphery(openChainRpc([chain.rpcUrl])), []);
  });

  test("requires no private key if all contracts exist", async () => {
    assert.deepEqual(was(await bring(chain.rpcUrl, noKey)), ["there", "there", "there"]);
  });

  test("deploys only the missing contracts", async () => {
    assert.deepEqual(was(await bring(withDeployer.rpcUrl, () => key)), [
      "there",
      "brought",
      "brought",
    ]);
  });
});

describe("readBringKey", () => {
  const directory = mkdtempSync(join(tmpdir(), "bring-key-"));
  const file = join(directory, "key");
  const wanted = "expected a private key: 64 hex digits with or without 0x";
  after(() => {
    delete process.env.BRING_KEY;
    rmSync(directory, { recursive: true });
  });

  test("throws if the key file is empty, or if neither a file nor BRING_KEY is set", () => {
    writeFileSync(file, "\n");
    delete process.env.BRING_KEY;
    for (const from of [file, undefined])
      assert.throws(() => readBringKey(from), {
        message:
          "a contract is missing on the chain: to deploy it, pass the private key of the account " +
          "that pays for the gas, with --key-file or BRING_KEY",
      });
  });

  test("throws an error that contains only the key's length if the key is invalid", () => {
    writeFileSync(file, `${key}0\n`);
    process.env.BRING_KEY = "secret";
    for (const [from, message] of [
      [file, `the file ${file}: ${wanted}, found 67 characters`],
      [undefined, `BRING_KEY: ${wanted}, found 6 characters`],
    ] as const)
      assert.throws(() => readBringKey(from), { message });
  });

  test("reads the key file even if BRING_KEY is set, and accepts keys with or without 0x", () => {
    writeFileSync(file, `${key.slice(2)}\n`);
    process.env.BRING_KEY = anvilKeys[1];
    assert.equal(readBringKey(file), key);
    assert.equal(readBringKey(undefined), anvilKeys[1]);
  });
});
