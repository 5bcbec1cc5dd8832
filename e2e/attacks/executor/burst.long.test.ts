// Tests thousands of payments in one block while many other addresses are unpaid. The test mines a
// block only after the executor has completed a pass. The result therefore does
// not depend on the machine's speed.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { burst, callsIn, openAddresses } from "../../../service/testing/executor/burst.ts";
import { control, count, fatesOf, prepareAttack } from "./world.ts";

const { world, store } = await prepareAttack();
const [payments, open] = [count(300, 2000), count(300, 100_000)];
const blocksMax = count(2, 8);
/**
 * The maximum numbers of RPC calls to one endpoint, per payment and per block. `npm test` permits
 * more calls per payment than `npm run test:long`. Some calls do not depend on the number of
 * payments. The fewer the payments, the more of these calls there are for each payment.
 */
const [callsPerPaymentMax, callsPerBlockMax] = [count(1.2, 1.12), 20];
await openAddresses(world, store, open);

describe(`${payments} payments in one block, while ${open} addresses are unpaid`, () => {
  for (const [endpoints, name] of [
    [1, "one endpoint"],
    [2, "two endpoints"],
  ] as const) {
    test(`are executed within ${blocksMax} blocks with few RPC calls (${name})`, async (t) => {
      const records = await openAddresses(world, store, payments);
      const took = await burst(world, store, records, { endpoints });
      const perPayment = (callsIn(took) / endpoints - callsPerBlockMax * took.blocks) / payments;
      t.diagnostic(
        `${took.blocks} blocks, ${took.transactions} transactions, ${callsIn(took)} calls`,
      );
      t.diagnostic([...took.calls].map(([method, calls]) => `${method} ${calls}`).join(", "));
      assert.ok(took.blocks <= blocksMax, `${took.blocks} blocks`);
      assert.ok(perPayment <= callsPerPaymentMax, `${perPayment} calls per payment`);
      const fates = await fatesOf(world, records);
      assert.ok(fates.every(({ executed, held }) => executed === 1 && held === 0n));
    });
  }

  const few = count(100, 250);
  test(
    `control: the payments need more blocks if a pass handles only ${few} payments`,
    control,
    async (t) => {
      const records = await openAddresses(world, store, payments);
      const took = await burst(world, store, records, { tuning: { jobsPerPass: few } });
      t.diagnostic(`${took.blocks} blocks`);
      assert.ok(took.blocks > blocksMax, `${took.blocks} blocks`);
    },
  );
});
