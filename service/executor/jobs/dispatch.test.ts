// Tests which reason is saved for a job if no key can send its transaction. The database contains
// no nonces, so the next nonce is 0.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Hex } from "executable-address";
import { openStore } from "../../roles/open-store.ts";
import type { Store } from "../../store/store.ts";
import { openCannedNetwork } from "../../testing/chain/canned-network.ts";
import { openLedger } from "../ledger/ledger.ts";
import { defaultTuning } from "../settings.ts";
import type { Purse } from "../transactions/purse.ts";
import { openSendMemory } from "../transactions/send.ts";
import type { SendingKey } from "../transactions/sending-key.ts";
import { dispatch, openShortageMemory, signAndSend } from "./dispatch.ts";
import type { Batch } from "./gas.ts";

const address: Hex = `0x${"0a".repeat(20)}`;
const sender: Hex = `0x${"0b".repeat(20)}`;

const purse: Purse = {
  suggested: { maxFee: 1n, priorityFee: 1n },
  ...{ neededPerGas: 1n, nextBaseFee: 1n, perByte: 0n, reserved: 0n },
  ...{ balance: 10n ** 18n, balanceSure: 10n ** 18n },
};

let store: Store;
let dataDirectory: string;
before(async () => {
  dataDirectory = mkdtempSync(join(tmpdir(), "dispatch-"));
  store = await openStore({ dataDirectory });
});
after(async () => {
  await store.close();
  rmSync(dataDirectory, { recursive: true });
});

/**
 * Tries to send one execution with one key. Returns the reason why the execution's job has to wait,
 * and the seconds until its retry.
 *
 * @param nonces the nonce that each endpoint returns; undefined if the endpoint returns an error
 * @param unmined the number of the key's pending transactions
 */
async function dispatchOne(nonces: readonly (number | undefined)[], unmined = 0) {
  const network = openCannedNetwork(nonces.length, (place) => {
    const nonce = nonces[place];
    if (nonce === undefined) return { error: { code: -32_000, message: "busy" } };
    return { result: `0x${nonce.toString(16)}` };
  });
  const pass = {
    parts: {
      ...{ chain: { chainId: 1 }, tuning: defaultTuning, ledger: openLedger(store.db, "sqlite") },
      ...{ clock: () => 0, report: () => {} },
    },
    memory: { ...openSendMemory(), ...openShortageMemory() },
    view: await network.openView(),
    nowSeconds: 1000,
    signer: { address: sender, sign: () => assert.fail("nothing may be signed") },
  };
  const key = { pass, unmined: Array(unmined), openPurse: async () => purse };
  const job = { address, terms: "0x00", accountId: "acc_1", isClientId: false };
  const batch = { gas: 100_000, ready: [{ kind: "execute", item: { job }, gas: 100_000 }] };
  const [update, ...others] = await dispatch(
    pass as never,
    purse,
    [batch as unknown as Batch],
    [key as unknown as SendingKey],
    signAndSend,
  );
  assert.deepEqual(others, []);
  return { reason: update!.reason, seconds: update!.dueAtSeconds! - 1000 };
}

describe("a due job is postponed with the reason", () => {
  test("`no_free_slot` if the key has too many pending transactions", async () => {
    // The number of pending transactions can exceed the limit, because the limit does not apply to
    // transactions that fill nonce gaps.
    for (const gapFills of [0, 1, 16]) {
      const found = await dispatchOne([0, 0], defaultTuning.inFlightMax + gapFills);
      assert.deepEqual(found, { reason: "no_free_slot", seconds: 0 });
    }
  });

  test("`earlier_nonces_unknown` if a quorum reports a higher nonce", async () => {
    const found = await dispatchOne([3, 3]);
    assert.deepEqual(found, { reason: "earlier_nonces_unknown", seconds: 5 });
  });

  test("`endpoints_disagree_on_nonce` if one endpoint reports a higher nonce", async () => {
    const found = await dispatchOne([3, undefined]);
    assert.deepEqual(found, { reason: "endpoints_disagree_on_nonce", seconds: 15 });
  });
});
