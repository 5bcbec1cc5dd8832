// Derives an address, verifies a record, and calls a service at `origin`. The test runs this
// program on every runtime and compares the output with Node's.

import {
  decodeTerms,
  deriveAddress,
  factoryAddress,
  formatAddress,
  makeRecord,
  verifyRecord,
} from "executable-address";
import { createClient } from "executable-address/client";

export async function tryAll(origin, intent, credential) {
  const record = makeRecord(intent);
  verifyRecord(record, { factory: factoryAddress });
  const client = createClient({ baseUrl: `${origin}/v1`, retriesMax: 0, ...credential });
  const made = await client.create(intent);
  const states = [];
  for await (const { state } of client.watch(record.address)) {
    states.push(state);
    if (states.length === 2) break;
  }
  const redirected = createClient({ baseUrl: `${origin}/elsewhere`, retriesMax: 0 });
  const late = createClient({ baseUrl: `${origin}/late`, retriesMax: 0, timeoutMs: 200 });
  const describeType = (answer) =>
    answer.then(
      () => "an answer",
      (error) => error.kind ?? String(error),
    );
  return {
    address: formatAddress(deriveAddress(record.terms)),
    decoded: decodeTerms(record.terms),
    made,
    found: await client.lookup(record.address),
    states,
    redirected: await describeType(redirected.chains()),
    late: await describeType(late.chains()),
  };
}
