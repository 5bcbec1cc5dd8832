// Runs two processes that send deliveries, and kills both with SIGKILL in each round. Tests that
// all events are delivered, and that each address's events stay in order. A repeated delivery must
// have the same webhook-id. With TESTS=long, there are 200 rounds.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isLong, onlyLong } from "../../../scripts/long.ts";
import { openEmptyStore } from "../../testing/empty-store.ts";
import { addHook, happen, newAccount, startReceiver } from "../../testing/webhooks/world.ts";

const rounds = isLong ? 200 : 3;
const program = new URL("../../testing/webhooks/deliverer.ts", import.meta.url).pathname;

async function startDeliverer(place: string, aheadMs: number): Promise<ChildProcess> {
  const args = [program, place, String(aheadMs)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout!, "data");
  return child;
}

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`two processes that deliver webhooks on ${dialect}`, () => {
    const options = dialect === "postgres" ? {} : onlyLong;
    test(`lose no event if both are killed in each of ${rounds} rounds`, options, async () => {
      const { store, postgres, place, stop } = await openEmptyStore(dialect);
      const receiver = await startReceiver();
      const account = await newAccount(store);
      await addHook(store, account, receiver.url);
      const addresses = Array.from({ length: 8 }, () => randomBytes(20));
      const expected: string[] = [];
      for (let round = 1; round <= rounds; round++) {
        // In each round, the new processes' clocks are 61 s further ahead. The killed processes'
        // claims have then expired.
        const pair = await Promise.all(
          [round, round].map((minutes) => startDeliverer(place, minutes * 61_000)),
        );
        for (const address of addresses) {
          expected.push(await happen(store, account, { address, sequence: round }));
        }
        if (postgres && round % 50 === 0) await postgres.restart();
        for (const child of pair) {
          await sleep(randomInt(40));
          child.kill("SIGKILL");
          await once(child, "exit");
        }
      }
      const last = await startDeliverer(place, (rounds + 1) * 61_000);
      const taken = () => new Set(receiver.taken.map(({ headers }) => headers["webhook-id"]));
      while (taken().size < expected.length) await sleep(20);
      last.kill("SIGKILL");
      await once(last, "exit");
      assert.deepEqual([...taken()].toSorted(), expected.toSorted());
      for (const address of addresses) {
        const mine = receiver.taken
          .map(({ body }) => JSON.parse(body).data as { address: string; sequence: number })
          .filter((data) => data.address === `0x${address.toString("hex")}`)
          .map(({ sequence }) => sequence);
        // An event can be delivered several times, but the sequence numbers of the deliveries never
        // decrease.
        assert.ok(mine.every((sequence, index) => index === 0 || sequence >= mine[index - 1]!));
      }
      await receiver.close();
      await stop();
    });
  });
}
