// Tests how well the service's checks predict an intent's outcome. The checks must report at least
// 97% of the intents that fail. At most 3% of the reported intents may succeed. TESTS=long uses ten
// intents of each class.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Hex } from "executable-address";
import { isLong } from "../../../scripts/long.ts";
import { openChecks } from "../../../service/chain/findings/checks.ts";
import { deployOdd } from "../../../service/testing/chain/odd-contracts.ts";
import { type SimulatedWorld, startSimulated } from "../../../service/testing/chain/simulated.ts";
import { payer } from "../../../service/testing/chain/world.ts";
import { openClasses } from "./classes.ts";
import type { Kit } from "./hands.ts";
import { wrongOf } from "./truth.ts";

const each = isLong ? 10 : 1;
const shareMin = 0.97;

describe("the service's checks of an intent", () => {
  let world: SimulatedWorld;
  let kit: Kit;
  const listed: { symbol: string; address: Hex; decimals: number }[] = [];

  before(async () => {
    world = await startSimulated();
    const list = async (address: Hex) => {
      listed.push({ symbol: "DMO", address, decimals: 6 });
      await world.pay(payer, 10n ** 15n, address);
      return address;
    };
    const newFiat = async () => list(await deployOdd(world, "FiatToken"));
    const odd = async (name: string) => list(await world.deployOdd(name));
    let amounts = 0n;
    kit = {
      world,
      newFiat,
      movers: new Map(),
      tokens: {
        plain: await list(world.token),
        fiat: await newFiat(),
        silent: await odd("SilentToken"),
        noZero: await odd("NoZeroApproveToken"),
        boasting: await odd("BoastingToken"),
        blocking: await odd("BlockingToken"),
        fee: await odd("FeeToken"),
        half: await odd("HalfToken"),
        false: await odd("FalseToken"),
      },
      amount: () => 20_000_000n + 1_234_567n * amounts++,
      async send(to, data) {
        const hash = await world.client.sendTransaction({ to, data });
        await world.client.waitForTransactionReceipt({ hash });
      },
    };
  });
  after(() => world?.stop());

  test("predict failures with at least 97% recall and precision", async (t) => {
    const depths = { confirmations: 12, paymentConfirmations: 0 };
    const check = openChecks({ ...world.chain, tokens: listed, ...depths });
    const count = { hits: 0, missed: 0, alarms: 0, clean: 0 };
    const faults: string[] = [];
    const classes = Object.entries(openClasses(kit));
    assert.ok(classes.length >= 40, `${classes.length} classes`);
    for (let round = 0; round < each; round++) {
      for (const [name, make] of classes) {
        const made = await make();
        const { findings } = await check(made.record);
        const wrong = await wrongOf(made, kit);
        const isFound = findings.length > 0;
        count[wrong ? (isFound ? "hits" : "missed") : isFound ? "alarms" : "clean"] += 1;
        if (isFound !== (wrong !== undefined))
          faults.push(`${name}: ${wrong ?? "is right"}; ${JSON.stringify(findings)}`);
      }
    }
    const recall = count.hits / (count.hits + count.missed);
    const precision = count.hits / (count.hits + count.alarms);
    t.diagnostic(`${classes.length} classes, ${JSON.stringify(count)}`);
    t.diagnostic(`recall ${recall.toFixed(3)}, precision ${precision.toFixed(3)}`);
    for (const fault of faults) t.diagnostic(fault);
    assert.ok(count.clean >= 15 * each, "enough that are right");
    assert.ok(recall >= shareMin && precision >= shareMin, faults.join("\n"));
  });
});
