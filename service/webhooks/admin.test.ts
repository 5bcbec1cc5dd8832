// Tests the operator's commands for webhooks on SQLite. Their SQL statements are tested on both
// databases in http/webhooks/webhooks.test.ts.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { happen, newAccount } from "../testing/webhooks/world.ts";
import { webhookCommands } from "./admin.ts";

const url = "https://shop.example/hook";

describe("the operator's commands for webhooks", () => {
  const directory = mkdtempSync(join(tmpdir(), "webhook-commands-"));
  let store: Store;
  before(async () => {
    store = await openStore({ dataDirectory: directory });
  });
  after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  // biome-ignore lint/suspicious/noExplicitAny: each command prints its own JSON
  const run = (words: string, options: object, rest: string[] = []): Promise<any> => {
    const command = webhookCommands("public").find((each) => each.words === `webhook ${words}`)!;
    const more = { publicUrl: "https://pay.example", dataDirectory: directory, chainsFile: "" };
    return command.run({ store, ...more }, { options: { ...options }, rest });
  };
  const hooked = async () => {
    const account = await newAccount(store);
    const { id, secret } = await run("add", { account, url });
    return { account, secret, options: { account, endpoint: id as string } };
  };

  test("refuse an endpoint that belongs to another account", async () => {
    const { options } = await hooked();
    const shown = await run("list", options);
    const event = await happen(store, options.account);
    const stranger = { ...options, account: await newAccount(store), event };
    const words = ["pause", "resume", "rotate", "test", "replay", "deliveries", "remove"];
    for (const word of words) {
      await assert.rejects(run(word, stranger), {
        message:
          `the account has no endpoint ${stranger.endpoint}: see webhook list --account ` +
          stranger.account,
      });
    }
    assert.deepEqual(await run("list", options), shown);
    const sent: { eventId: string }[] = await run("deliveries", options);
    assert.deepEqual(
      sent.map(({ eventId }) => eventId),
      [event],
    );
  });

  test("refuse `webhook replay` unless it has either an event or a valid time range", async () => {
    const { options } = await hooked();
    const [from, until] = ["2026-11-22T06:00:00Z", "2026-11-22T07:00:00Z"];
    const wanted =
      "--event ID, or --from TIME and --until LATER_TIME (such as 2026-11-22T06:00:00Z)";
    for (const [which, found] of [
      [{}, "none of them"],
      [{ from }, `--from ${from}`],
      [{ until }, `--until ${until}`],
      [{ from: until, until: from }, `--from ${until} --until ${from}`],
      [{ from: until, until }, `--from ${until} --until ${until}`],
      [{ from: "noon", until }, `--from noon --until ${until}`],
      // Without a UTC offset, the time would depend on the time zone of the operator's machine.
      [{ from: "2026-11-22T06:00", until }, `--from 2026-11-22T06:00 --until ${until}`],
      [{ event: "evt_1", from, until }, `--event evt_1 --from ${from} --until ${until}`],
      [{ event: "evt_1", until }, `--event evt_1 --until ${until}`],
    ] as const) {
      await assert.rejects(run("replay", { ...options, ...which }), {
        message: `expected ${wanted}, found ${found}`,
      });
    }
  });

  test("refuse an invalid number of blocks in `webhook confirmations`", async () => {
    const { account } = await hooked();
    for (const confirmations of ["101", "-1", "1.5", "many", ""]) {
      const given = { account, chain: "8453", confirmations };
      await assert.rejects(run("confirmations", given), {
        message: `expected a whole number from 0 to 100, found ${confirmations}`,
      });
    }
  });

  test("list, pause, resume, and remove endpoints, rotate secrets, and replay events", async () => {
    const { options, secret } = await hooked();
    await run("pause", options);
    assert.equal((await run("list", options)).endpoints[0].state, "paused");
    const missed = await happen(store, options.account, {}, Date.parse("2026-11-22T06:30:00Z"));
    await run("resume", options);
    assert.notEqual((await run("rotate", options)).secret, secret);
    const hour = { from: "2026-11-22T06:00:00Z", until: "2026-11-22T07:00:00Z" };
    for (const which of [{ event: missed }, hour]) {
      const answer = await run("replay", { ...options, ...which });
      assert.deepEqual(answer, { replayed: 1, next: null });
    }
    await run("remove", options);
    assert.deepEqual((await run("list", options)).endpoints, []);
  });
});
