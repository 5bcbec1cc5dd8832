// Tests the reason that is saved for a job if no key can send its transaction. Also tests the costs
// that are reserved in the budgets. The database contains no nonces, so the next nonce is 0.

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
import { openBudgets } from "../money/budgets.ts";
import { defaultTuning } from "../settings.ts";
import type { Purse } from "../transactions/purse.ts";
import { openSendMemory } from "../transactions/send.ts";
import type { SendingKey } from "../transactions/sending-key.ts";
import { dispatch, openShortageMemory, type SendOrder, signAndSend } from "./dispatch.ts";
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

const perDayMax = 10n ** 9n;
const newBudgets = () =>
  openBudgets(
    { perDayMax, perAccountMax: perDayMax, perClientMax: perDayMax },
    { total: 0n, accounts: new Map() },
  );

const job = { address, terms: "0x00", accountId: "acc_1", isClientId: false };
const batch = {
  ...{ gas: 100_000, ready: [{ kind: "execute", item: { job }, gas: 100_000 }] },
} as unknown as Batch;

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
  const key = { pass, unmined: Array(unmined), sent: 0, openPurse: async () => purse };
  const keys = [key as unknown as SendingKey];
  const budgets = newBudgets();
  const sent = await dispatch(pass as never, purse, budgets, [batch], keys, signAndSend);
  const [update, ...others] = sent;
  assert.equal(budgets.left(), perDayMax);
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

describe("dispatch", () => {
  const keyOf = (name: string) => {
    const pass = {
      parts: { tuning: defaultTuning, clock: () => 0 },
      memory: openSendMemory(),
      ...{ signer: { address: name }, nowSeconds: 1000 },
    };
    return {
      pass,
      unmined: [],
      sent: 0,
      openPurse: async () => ({ ...purse }),
    } as unknown as SendingKey;
  };
  const dispatchBy = async (sendOrder: SendOrder, batches: readonly Batch[]) => {
    const budgets = newBudgets();
    const keys = [keyOf("a"), keyOf("b")];
    await dispatch(keys[0]!.pass as never, purse, budgets, batches, keys, sendOrder);
    return perDayMax - budgets.left();
  };

  test("reserves the highest cost of each sent batch in the budgets", async () => {
    assert.equal(await dispatchBy(async () => undefined, [batch, batch]), 200_000n);
  });

  test("reserves a batch's cost once if only the second key can send it", async () => {
    const tried: string[] = [];
    const sendOrder: SendOrder = async ({ pass }) => {
      tried.push(pass.signer.address);
      return tried.length === 1 ? "signer_unavailable" : undefined;
    };
    assert.equal(await dispatchBy(sendOrder, [batch]), 100_000n);
    assert.deepEqual(tried, ["a", "b"]);
  });

  test("counts a key's earlier transactions of the same pass against its limit", async () => {
    const keys = [keyOf("a")];
    const { inFlightMax } = defaultTuning;
    const send = (count: number) => {
      const batches = Array(count).fill(batch);
      const { pass } = keys[0]!;
      return dispatch(pass as never, purse, newBudgets(), batches, keys, async () => undefined);
    };
    assert.deepEqual(await send(inFlightMax - 1), []);
    assert.deepEqual(
      (await send(2)).map(({ reason }) => reason),
      ["no_free_slot"],
    );
  });

  test("reserves nothing for a batch that no key sends", async () => {
    assert.equal(await dispatchBy(async () => "signer_unavailable", [batch]), 0n);
  });
});
