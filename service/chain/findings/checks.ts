// Checks of one chain: each a simulation of its own and what is found besides.

import type { Finding, Simulation } from "executable-address/client";
import type { StatusSubject } from "executable-address/status";
import { unread } from "../rpc/json-rpc.ts";
import { openSimulations } from "../simulation/reader.ts";
import { type CheckedChain, findFindings } from "./find.ts";

type Checked = { simulation: Simulation; findings: Finding[] };

/** @throws {ChainUnavailable} when the chain cannot be read, or went on to other blocks */
type CheckSubject = (subject: StatusSubject) => Promise<Checked>;

const attemptsMax = 3;

export function openChecks(chain: CheckedChain): CheckSubject {
  const simulate = openSimulations(chain);
  return async (subject) => {
    for (let attempt = 1; ; attempt++) {
      const simulation = await simulate(subject);
      try {
        return { simulation, findings: await findFindings(chain, subject, simulation) };
      } catch (error) {
        // A block that was replaced shows as any error at all: once more, on the newer one.
        const newer = await simulate(subject);
        if (attempt === attemptsMax || newer.block.hash === simulation.block.hash) unread(error);
      }
    }
  };
}
