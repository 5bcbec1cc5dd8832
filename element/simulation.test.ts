// Tests how a page reacts to a missing simulation, a simulation of another address, and too many
// balance changes. client/lies.test.ts tests invalid values in each field.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { makeRecord } from "executable-address";
import { simulationOf } from "../address/test/answers.ts";
import { sample, shop } from "../address/test/samples.ts";
import { type Served, serve } from "../address/test/serve.ts";
import { findSimulation } from "./simulation.ts";

const { address } = makeRecord(sample);
const simulation = simulationOf(address);
const [change] = simulation.changes;

let server: Served;
let status = 200;
let body: unknown;

before(async () => {
  server = await serve((_request, response) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
});
after(() => server.close());

const found = async (answer: unknown, answerStatus = 200) => {
  [body, status] = [answer, answerStatus];
  return findSimulation(`${server.origin}/v1`, address, new AbortController().signal);
};

describe("findSimulation", () => {
  test("findSimulation returns `unavailable` if the response is invalid", async () => {
    const wrong = [
      "<html>",
      null,
      { ...simulation, block: null },
      { ...simulation, address: shop },
      { ...simulation, changes: Array(101).fill(change) },
      { ...simulation, changes: [{ ...change, change: "+1" }] },
    ];
    for (const answer of wrong) assert.deepEqual(await found(answer), { kind: "unavailable" });
    assert.deepEqual(await found(simulation, 503), { kind: "unavailable" });
  });

  test("findSimulation returns `not_held` for a 404 response", async () => {
    assert.deepEqual(await found({}, 404), { kind: "not_held" });
  });

  test("findSimulation returns the simulation for an address in any letter case", async () => {
    for (const answer of [simulation, { ...simulation, address: address.toLowerCase() }])
      assert.deepEqual(await found(answer), { kind: "done", simulation: answer });
  });
});
