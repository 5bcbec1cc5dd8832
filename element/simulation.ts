// Requests the simulation of an address for a page, and validates the response.

import type { Hex } from "executable-address";
import type { Simulation } from "executable-address/client";
import { measuredBalancesMax, proveSimulation } from "executable-address/client/internal";

export type FoundSimulation =
  | { kind: "unavailable" | "not_held" }
  | { kind: "done"; simulation: Simulation };

/** Never throws. Returns `not_held` if the server has no intent for the address. */
export async function findSimulation(
  baseUrl: string,
  address: Hex,
  signal: AbortSignal,
): Promise<FoundSimulation> {
  try {
    const answer = await fetch(`${baseUrl}/address/${address}/simulation`, { signal });
    if (answer.status === 404) return { kind: "not_held" };
    const simulation = answer.ok && proveSimulation(await answer.json(), address);
    // Without this limit, a hostile server could fill the page with balance changes.
    if (simulation && simulation.changes.length <= measuredBalancesMax)
      return { kind: "done", simulation };
  } catch {
    // The server did not respond, or its response is invalid.
  }
  return { kind: "unavailable" };
}
