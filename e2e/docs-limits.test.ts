// Tests that the limits in the documentation are the limits in the code.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { maxHeaderSize } from "node:http";
import { test } from "node:test";
import { termsBytesMax } from "executable-address";
import { measuredBalancesMax } from "executable-address/client/internal";
import { symbolMax } from "executable-address/payment";
import { referenceCharactersMax } from "executable-address/reference";
import { callsMax } from "executable-address/shapes";
import { typeDepthMax } from "../address/abi/type.ts";
import { originsMax } from "../service/accounts/origins/origins.ts";
import { policies } from "../service/accounts/policies.ts";
import { executionGasMax } from "../service/chain/gas-limits.ts";
import { reasonCharactersMax } from "../service/chain/simulation/revert.ts";
import { pairsPerCallMax } from "../service/chain/status/probe.ts";
import { eventBytesMax } from "../service/events/changes.ts";
import { elsewhereMax } from "../service/events/elsewhere/changes.ts";
import { laterOwnersMax } from "../service/events/mark.ts";
import { listedPaymentsMax } from "../service/events/paid.ts";
import { gasRatioMax } from "../service/executor/jobs/batch.ts";
import { jobsMin } from "../service/executor/jobs/work.ts";
import { defaultTuning } from "../service/executor/settings.ts";
import { daySeconds } from "../service/flow/days.ts";
import { bodyBytesMax } from "../service/http/app.ts";
import { issuesPerResponseMax } from "../service/http/errors.ts";
import { headersMax } from "../service/http/headers.ts";
import { marksMax, membersMax } from "../service/http/input.ts";
import { defaultEventLimits, defaultLimits } from "../service/http/limits.ts";
import { replaysMax } from "../service/webhooks/deliveries/enqueue.ts";
import { deliveriesShown } from "../service/webhooks/deliveries/list.ts";
import { endpointsMax } from "../service/webhooks/endpoints.ts";

const inWords = (number: number) => number.toLocaleString("en-US");

const bytes = `at most ${inWords(termsBytesMax)} bytes`;
const calls = `1 to ${callsMax}`;
const [minutes, days] = [
  defaultLimits.expirySecondsMin / 60,
  defaultLimits.expirySecondsMax / daySeconds,
];
const headersKiB = maxHeaderSize / 1024;
const { streamsPerClientMax } = defaultEventLimits;
const { batchItemsMax } = defaultTuning;
const perSecond = (policy: "apiKey" | "clientId") => 1_000 / policies[policy].intervalMs;
const thenEvery = ({ burst, intervalMs }: { burst: number; intervalMs: number }) =>
  `a burst of ${burst}, then one every ${intervalMs / 1_000} s`;

/** Phrases that the pages must contain. Their numbers come from the code. */
const phrases: Record<string, readonly string[]> = {
  "docs/api.md": [
    `1 to ${referenceCharactersMax} printable characters`,
    `at most ${headersMax} headers with at most ${headersKiB} KiB in total`,
  ],
  "docs/credentials.md": [
    `An account can have up to ${originsMax} origins`,
    `${perSecond("apiKey")} requests per second, bursts of ${policies.apiKey.burst}`,
    `${perSecond("clientId")} requests per second, bursts of ${policies.clientId.burst}`,
  ],
  "docs/executor.md": [
    `One \`eth_call\` reads up to ${pairsPerCallMax} addresses`,
    `up to ${batchItemsMax} ready addresses in one transaction`,
    `each transaction can contain ${batchItemsMax} addresses`,
    `the money of up to ${batchItemsMax} addresses`,
    `works on at least ${jobsMin} and`,
    `at most ${gasRatioMax} times the smallest`,
  ],
  "docs/intents.md": [
    `${calls} calls, which run in this order`,
    `The encoded terms can have ${bytes}`,
    `${minutes} minutes to ${days} days in the future`,
    `a gas limit of at most ${inWords(executionGasMax)}`,
    `up to ${issuesPerResponseMax} faults in \`issues\``,
    `(more than ${membersMax}), and \`too_many_values\` (more than ${inWords(marksMax)} commas`,
  ],
  "docs/self-hosting.md": [`One client can have at most ${streamsPerClientMax} streams`],
  "docs/webhooks.md": [
    `has at most ${inWords(eventBytesMax)} bytes`,
    `replays up to ${inWords(replaysMax)} events`,
  ],
  "SECURITY.md": [
    `at most ${streamsPerClientMax} event streams`,
    `bursts of ${policies.simulations.burst} simulations and ${policies.proofs.burst} proofs`,
    `batches of ${batchItemsMax} addresses`,
  ],
  "spec/decisions.md": [
    `at least ${minutes} minutes, at most ${days} days ahead`,
    `${calls}; the terms of an intent have ${bytes}`,
    `nested at most ${typeDepthMax} levels deep`,
    `One \`eth_call\` reads up to ${pairsPerCallMax} balances`,
    `at most ${issuesPerResponseMax} entries`,
    `more than ${bodyBytesMax / 1024} KiB`,
  ],
  "spec/service.md": [
    `A reference has 1 to ${referenceCharactersMax} `,
    `at most ${reasonCharactersMax} printable ASCII characters`,
    `at most ${measuredBalancesMax} balance changes`,
    `a simulation measures at most ${measuredBalancesMax} balances`,
    `replays at most ${inWords(replaysMax)} events`,
    `the newest ${deliveriesShown} deliveries`,
    `\`symbol\` has at most ${symbolMax} characters`,
    `allows at most ${originsMax} origins`,
    `only the first ${laterOwnersMax + 1} accounts`,
    `An event has at most ${inWords(eventBytesMax)} bytes`,
    `The list has at most ${listedPaymentsMax} payments`,
    `at most ${elsewhereMax} payment events and ${elsewhereMax} returned amounts`,
    `up to ${endpointsMax} endpoints per account`,
    `more than ${headersMax} headers or ${headersKiB} KiB of headers`,
    `| API key | ${perSecond("apiKey")} requests per second | ${policies.apiKey.burst} |`,
    `| client ID | ${perSecond("clientId")} requests per second | ${policies.clientId.burst} |`,
    `can allow up to ${originsMax} origins`,
    `For simulations and for proofs, the limit is ${thenEvery(policies.simulations)}`,
    `it is ${thenEvery(policies.reports)}`,
  ],
  "spec/terms.md": [
    `${calls}; the terms are ${bytes} long`,
    `nested up to ${typeDepthMax} levels deep`,
  ],
};

test("simulations and proofs have the same rate limit, as spec/service.md says", () => {
  const { burst, intervalMs } = policies.simulations;
  assert.deepEqual({ ...policies.proofs, name: "" }, { name: "", burst, intervalMs });
});

for (const [page, expected] of Object.entries(phrases))
  test(`${page} states the same limits as the code`, () => {
    const text = readFileSync(new URL(`../${page}`, import.meta.url), "utf8").replace(/\s+/g, " ");
    assert.deepEqual(
      expected.filter((phrase) => !text.includes(phrase)),
      [],
      "phrases that the page does not contain",
    );
  });
