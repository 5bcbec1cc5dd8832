// Balances of an address have no proof, so as many nodes are asked as outvote one that lies.

import type { AddressRecord } from "../intent/intent.ts";
import type { AddressStatus } from "../status/shape.ts";
import { readStatus } from "../status/status.ts";
import { type AgreedBlock, callOf, parseAgreement } from "./agree.ts";
import { ProofError } from "./error.ts";
import type { GatherOptions } from "./gather.ts";

/**
 * The status of `record` at a block, as `quorum` nodes read it alike.
 *
 * @throws {ProofError} `no_quorum`
 */
export async function readAgreed(
  record: AddressRecord,
  agreed: Pick<AgreedBlock, "hash">,
  { rpcs, ...options }: GatherOptions,
): Promise<AddressStatus> {
  const { quorum } = parseAgreement(rpcs, options);
  const reasons: string[] = [];
  const readings = await Promise.all(
    rpcs.map((rpc) =>
      readStatus(record, { rpc: callOf(rpc), blockHash: agreed.hash }).catch((error: Error) => {
        reasons.push(error.message);
        return undefined;
      }),
    ),
  );
  const texts = readings.map((reading) => JSON.stringify(reading));
  const found = readings.find(
    (reading, index) => reading && texts.filter((text) => text === texts[index]).length >= quorum,
  );
  if (found) return found;
  const message = `${quorum} of ${rpcs.length} endpoints read nothing alike of ${record.address}`;
  throw new ProofError("no_quorum", [message, ...reasons].join("; "));
}
