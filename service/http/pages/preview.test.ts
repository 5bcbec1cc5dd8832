import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { chainParts, startApp, type TestApp } from "../../testing/app.ts";
import { chainsAt, keepRecord } from "../../testing/app-on-chain.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import { openStatuses } from "../status/status.ts";
import { openPreviews } from "./preview.ts";

let world: World;
let server: TestApp;

before(async () => {
  world = await startWorld();
  server = await startApp({ chains: chainsAt(world) });
});
after(async () => {
  await server.close();
  await world.stop();
});

/**
 * Returns a preview. Uses new chain readers, because the server's chain readers may have cached the
 * newest block.
 */
const previewOf = (address: string, parts = { ...server.parts, ...chainParts(chainsAt(world)) }) =>
  openPreviews(parts, openStatuses(parts))(address);

describe("the preview of a payment link", () => {
  test("is missing for an unknown or invalid address", async () => {
    assert.equal(await previewOf(`0x${"5a".repeat(20)}`), undefined);
    assert.equal(await previewOf("0x12"), undefined);
  });

  test("shows amount, token, chain, and state", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const text = (await previewOf(record.address)) ?? "";
    assert.match(text, /<title>0\.0001 DMO on Local<\/title>/);
    assert.match(text, /"og:description" content="Waiting for payment"/);
    await world.pay(record.address, 100n);
    assert.match((await previewOf(record.address)) ?? "", /content="Paid"/);
    await world.execute(record);
    assert.match((await previewOf(record.address)) ?? "", /content="Completed"/);
  });

  test("shows no state if the chain does not respond", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const cut = { ...server.parts, ...chainParts(chainsAt(world, "http://127.0.0.1:9")) };
    const text = (await previewOf(record.address, cut)) ?? "";
    assert.match(text, /0\.0001 DMO on Local/);
    assert.doesNotMatch(text, /Waiting/);
  });

  test("shows no state that takes longer than 400 ms", { timeout: 30_000 }, async () => {
    const record = await keepRecord(server, await world.newRecord());
    const { promise: never } = Promise.withResolvers<never>();
    const statuses = { ...openStatuses(server.parts), read: () => never };
    const text = (await openPreviews(server.parts, statuses)(record.address)) ?? "";
    assert.match(text, /0\.0001 DMO on Local/);
    assert.doesNotMatch(text, /Waiting/);
  });

  test("escapes names, so that a name cannot close an HTML element", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const { chainId, calls } = record.intent;
    const name = '</script><b>"Shop"';
    const target = calls.at(-1)!.target.toLowerCase();
    const labels = new Map([[chainId, { [target]: name }]]);
    const text = (await previewOf(record.address, { ...server.parts, labels })) ?? "";
    assert.equal(text.match(/<\/script>/g)?.length, 1);
    assert.doesNotMatch(text, /<b>/);
    const facts = /id="facts">(.*)<\/script>/.exec(text)?.[1] ?? "";
    assert.deepEqual(JSON.parse(facts).labels, { [target]: name });
  });
});
