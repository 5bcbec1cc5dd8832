// The result of the last complete mutation run: report.json, with a reason for each survivor.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Report = Tally & {
  /** keccak256 of the creation code that was mutated. */
  creationCodeHash: string;
  collectorCodeHash: string;
  /** The counts of the mutants of guards.ts, which the counts of this report do not include. */
  guards: Tally;
  /** The counts of the mutants of by-hand.ts, which the counts of this report do not include. */
  byHand: Tally;
  /** The counts of the mutants of the Collector: the operators' mutants and the weakened checks. */
  collector: Tally;
};

export type Tally = {
  /**
   * The number of mutants that the operators make from the sources, and the number of tested
   * mutants.
   */
  changes: number;
  tried: number;
  /**
   * The number of mutants whose code differs from the code of the original and of all other
   * mutants.
   */
  compiled: number;
  killed: number;
  /**
   * The names of the surviving mutants ({@link nameOf}), each with the reason why the tests can
   * pass.
   */
  survivors: { name: string; reason: string }[];
};

export const reportFile = join(import.meta.dirname, "report.json");

export const readReport = (): Report => JSON.parse(readFileSync(reportFile, "utf8"));
