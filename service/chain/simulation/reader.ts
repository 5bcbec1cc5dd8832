// Simulations of one chain for many requests: those for the same address within one block share a
// simulation, and only a few run at once, since each may cost the node seconds.

import type { Simulation } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { openGate } from "../../flow/gate.ts";
import { recalled } from "../../flow/recalled.ts";
import { within } from "../../flow/within.ts";
import { ChainUnavailable, unread } from "../rpc/json-rpc.ts";
import { type SimulatedChain, simulate } from "./simulation.ts";

/**
 * Simulates at the chain's newest block, or one at most `headMsMax` older.
 *
 * @throws {ChainUnavailable} when the chain cannot be read, or not in time
 */
export type Simulate = (subject: StatusSubject) => Promise<Simulation>;

/** An address and a block; a dropped one is made again when it is asked for again. */
const answersMax = 10_000;

const runningMax = 8;

/**
 * @param options.waitMsMax with the wait for a place; later, the page has been left
 * @param options.now milliseconds, by a clock that does not go back
 */
export function openSimulations(
  chain: SimulatedChain,
  { waitMsMax = 15_000, now = () => performance.now() } = {},
): Simulate {
  const inTurn = openGate(runningMax);
  const answered = recalled<Simulation>(answersMax);
  const at = (block: BlockReference, subject: StatusSubject): Promise<Simulation> =>
    answered(`${subject.address} ${block.hash}`, () => {
      const untilMs = now() + waitMsMax;
      return inTurn(() => {
        if (now() > untilMs) throw new ChainUnavailable("no place became free in time");
        return simulate(chain, block, subject);
      });
    });
  const read = (subject: StatusSubject) => chain.rpc.heads.at((block) => at(block, subject));
  const late = () => new ChainUnavailable(`not simulated within ${waitMsMax} ms`);
  return (subject) => within(waitMsMax, read(subject), late).catch(unread);
}
