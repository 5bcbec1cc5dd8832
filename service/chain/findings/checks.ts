// Checks of one chain: each a simulation of its own and what is found besides.

import type { Finding, Note, Simulation } from "executable-address/client";
import type { StatusSubject } from "executable-address/status";
import { readAtNewest } from "../rpc/heads.ts";
import { unread } from "../rpc/json-rpc.ts";
import { openSimulations } from "../simulation/reader.ts";
import { type CheckedChain, findFindings } from "./find.ts";

type Checked = { simulation: Simulation; findings: Finding[]; notes: Note[] };

/** @throws {ChainUnavailable} when the chain cannot be read, or went on to other blocks */
type CheckSubject = (subject: StatusSubject) => Promise<Checked>;

export function openChecks(chain: CheckedChain): CheckSubject {
  const simulate = openSimulations(chain);
  return (subject) =>
    readAtNewest(
      () => simulate(subject),
      ({ block }) => block.hash,
      async (simulation) => {
        return { simulation, ...(await findFindings(chain, subject, simulation)) };
      },
    ).catch(unread);
}
