// The simulation of an address, for pages: asked of the server, and of the right shape or none.

import type { Hex } from "executable-address";
import type { Simulation } from "executable-address/client";
import { proveSimulation } from "executable-address/client/parts";

export type FoundSimulation =
  | { kind: "unavailable" | "not_held" }
  | { kind: "done"; simulation: Simulation };

/** More could not be read by anybody, and a hostile server would fill the page with them. */
const changesMax = 100;

/** Never throws. `not_held`: the server has no intent for the address. */
export async function findSimulation(
  baseUrl: string,
  address: Hex,
  signal: AbortSignal,
): Promise<FoundSimulation> {
  try {
    const answer = await fetch(`${baseUrl}/address/${address}/simulation`, { signal });
    if (answer.status === 404) return { kind: "not_held" };
    const simulation = answer.ok && proveSimulation(await answer.json(), address);
    if (simulation && simulation.changes.length <= changesMax) return { kind: "done", simulation };
  } catch {
    // No answer, or none that is a simulation of this address.
  }
  return { kind: "unavailable" };
}
