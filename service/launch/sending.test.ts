// Tests which transactions a launch does not send again. The other tests of this folder send a
// launch's transactions to a chain.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { anvilKeys } from "executable-address-contracts/anvil";
import { keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { journaled, type Sending } from "./sending.ts";

const account = privateKeyToAccount(anvilKeys[0]);
const blockHash: Hex = `0x${"ab".repeat(32)}`;

/** Returns a signed transaction that calls the factory. */
const sign = (nonce: number) =>
  account.signTransaction({
    ...{ type: "eip1559", chainId: 84_532, nonce, to: factoryAddress, data: "0x01", gas: 50_000n },
    ...{ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
  });

describe("a step whose transaction is mined is not sent again if", () => {
  const receipt = {
    ...{ blockHash, blockNumber: 3, succeeded: true, gasUsed: 50_000, paid: 1n, logs: [] },
  };
  const behind = new Error("unknown block");
  const cases = [
    ["no quorum shows its receipt", false, "0x", "its receipt"],
    ["its contract had code at its block", true, "0x60", "its effect"],
    ["its contract's code cannot be read", true, behind, "its effect"],
  ] as const;
  for (const [what, hasReceipt, code, missing] of cases)
    test(what, async () => {
      const raw = await sign(0);
      const hash = keccak256(raw);
      const mined = { block: 3, succeeded: true, wei: "1" };
      const state = {
        ...{ chainId: 84_532, wallet: account.address },
        sent: [{ hash, raw, nonce: 0, mined }],
      };
      const requests: unknown[][] = [];
      const request = journaled({
        key: anvilKeys[0],
        journal: { state, save: () => assert.fail("the journal must not change") },
        async request(method, params) {
          requests.push([method, ...params]);
          if (code === behind) throw code;
          return code;
        },
        readReceipt: async () => (hasReceipt ? { ...receipt, transactionHash: hash } : undefined),
        fees: {} as Sending["fees"],
        ...{ pollMs: 1, report: () => {} },
      });
      await assert.rejects(request("eth_sendRawTransaction", [await sign(1)]), {
        message:
          `${hash} (execution, nonce 0) already completed this step, but the endpoints do not ` +
          `show ${missing}: run the command again in a minute`,
      });
      const codeAtBlock = ["eth_getCode", factoryAddress.toLowerCase(), { blockHash }];
      assert.deepEqual(requests, hasReceipt ? [codeAtBlock] : []);
    });
});
