// Simulations of one chain for many requests: those for the same address within one block share a
// simulation, and only a few run at once, since each may cost the node seconds.

import type { Hex } from "executable-address";
import type { Simulation } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { LRUCache } from "lru-cache";
import { openGate } from "../../flow/gate.ts";
import { within } from "../../flow/within.ts";
import { ChainUnavailable, unread } from "../rpc/json-rpc.ts";
import { type SimulatedChain, simulate } from "./simulation.ts";

/**
 * Simulates at the chain's newest block, or one at most `headMsMax` older.
 *
 * @throws {ChainUnavailable} when the chain cannot be read, or not in time
 */
export type Simulate = (subject: StatusSubject) => Promise<Simulation>;

/** Simulations of one block; a dropped one is made again when it is asked for again. */
const answersMax = 10_000;
type Answers = LRUCache<Hex, Promise<Simulation>>;

const runningMax = 8;

/**
 * @param options.waitMsMax with the wait for a place; later, the page has been left
 */
export function openSimulations(
  chain: SimulatedChain,
  { waitMsMax = 15_000 }: { waitMsMax?: number } = {},
): Simulate {
  const inTurn = openGate(runningMax);
  let current: { block: BlockReference; answers: Answers } | undefined;

  const at = (block: BlockReference, subject: StatusSubject): Promise<Simulation> => {
    if (current?.block.hash !== block.hash)
      current = { block, answers: new LRUCache({ max: answersMax }) };
    const { answers } = current;
    const known = answers.get(subject.address);
    if (known) return known;
    const untilMs = performance.now() + waitMsMax;
    const asked = inTurn(() => {
      if (performance.now() > untilMs) throw new ChainUnavailable("no place became free in time");
      return simulate(chain, block, subject);
    });
    answers.set(subject.address, asked);
    asked.catch(() => answers.delete(subject.address));
    return asked;
  };

  const read = (subject: StatusSubject) => chain.rpc.heads.at((block) => at(block, subject));
  const late = () => new ChainUnavailable(`not simulated within ${waitMsMax} ms`);
  return (subject) => within(waitMsMax, read(subject), late).catch(unread);
}
