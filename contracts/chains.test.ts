// Checks which chains the factory can be deployed on. Also tests terms of the maximum length on a
// chain that limits init code and gas.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { concat, encodeFunctionData, getAddress, type Hex, parseAbi, size } from "viem";
import { bringDeployer, deployFactory } from "./deploy.ts";
import {
  demoToken,
  deterministicDeployer,
  factoryAddress,
  factoryCreationCode,
  factorySalt,
  vaultCodeBytes,
} from "./index.ts";
import { addressOf, type CallTerms, openChain, toFactory } from "./testing/local-chain.ts";

const options = ["--disable-default-create2-deployer", "--hardfork"];
const shanghai = await openChain([...options, "shanghai"]);
const osaka = await openChain([...options, "osaka", "--enable-tx-gas-limit"]);
after(() => Promise.all([shanghai.anvil.stop(), osaka.anvil.stop()]));

describe("a chain before the Cancun upgrade", () => {
  test("the factory cannot be created", async () => {
    await bringDeployer(shanghai.client);
    const data = concat([factorySalt, factoryCreationCode]);
    await assert.rejects(shanghai.send(deterministicDeployer.address, data), /reverted/);
    assert.equal(await shanghai.client.getCode({ address: factoryAddress }), undefined);
  });
});

describe("a chain with the size and gas limits of the Osaka upgrade", () => {
  const gasMax = 16_777_216n;
  const termsBytesMax = 24_576;

  /**
   * Creates and pays an intent with terms of the maximum length. The intent calls the token `calls`
   * times, with arguments whose bits are all set.
   */
  async function largest(calls: number, expirationTimestamp: bigint) {
    const token = await osaka.deploy(demoToken.abi, demoToken.bytecode, ["Dollar", "DUSD", 6]);
    const call = (bytes: number): CallTerms => ({
      target: token,
      signature: "decimals()",
      names: "",
      args: `0x${"ff".repeat(bytes)}`,
    });
    const intent = {
      token,
      amount: 1n,
      calls: Array.from({ length: calls }, () => call(0)),
      expirationTimestamp,
      recovery: getAddress("0x00000000000000000000000000000000000c0ffe"),
      salt: `0x${"ff".repeat(32)}` as Hex,
      chainId: 31337n,
    };
    const rest = termsBytesMax - (size(toFactory("execute", [intent])) - 4);
    const each = Math.floor(rest / calls / 32) * 32;
    intent.calls = intent.calls.map((_, i) => call(i === 0 ? rest - each * (calls - 1) : each));
    assert.equal(size(toFactory("execute", [intent])) - 4, termsBytesMax);
    const vault = await addressOf(osaka, intent);
    const mint = parseAbi(["function mint(address to, uint256 amount)"]);
    const data = encodeFunctionData({ abi: mint, functionName: "mint", args: [vault, 1n] });
    await osaka.send(token, data);
    return { intent, token, vault };
  }

  async function send(data: Hex) {
    const hash = await osaka.client.sendTransaction({ to: factoryAddress, data, gas: gasMax });
    const receipt = await osaka.client.waitForTransactionReceipt({ hash });
    assert.equal(receipt.status, "success");
    return receipt.gasUsed;
  }

  test("the factory can be created", async () => {
    await bringDeployer(osaka.client);
    assert.equal(await deployFactory(osaka.client), factoryAddress);
    const tooMuch = { to: factoryAddress, data: "0x", gas: gasMax + 1n } as const;
    await assert.rejects(osaka.client.sendTransaction(tooMuch), /gas/i);
    const tooLong: Hex = `0x${"00".repeat(49_153)}`;
    await assert.rejects(
      osaka.client.sendTransaction({ data: tooLong, gas: gasMax }),
      /init ?code/i,
    );
  });

  for (const calls of [1, 32]) {
    test(`an intent of maximum length with ${calls} calls can be executed`, async () => {
      const { intent, vault } = await largest(calls, 0xffff_ffffn);
      const gas = await send(toFactory("execute", [intent]));
      assert.equal(
        size((await osaka.client.getCode({ address: vault }))!),
        vaultCodeBytes.executed,
      );
      assert.ok(gas < 2_000_000n, `took ${gas}`);
    });

    test(`an intent of maximum length with ${calls} calls can be recovered`, async () => {
      const { intent, token, vault } = await largest(calls, 1n);
      const gas = await send(toFactory("recover", [intent, [token]]));
      assert.equal(size((await osaka.client.getCode({ address: vault }))!), vaultCodeBytes.closed);
      assert.ok(gas < 2_000_000n, `took ${gas}`);
    });
  }
});
