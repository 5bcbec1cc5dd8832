// The result of the last complete mutation run: report.json, with a reason for each survivor.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Report = Tally & {
  /** keccak256 of the creation code before any mutation. */
  creationCodeHash: string;
  collectorCodeHash: string;
  /** The results for the mutants of guards.ts. The report's own counts exclude these mutants. */
  guards: Tally;
  /** The results for the mutants of by-hand.ts. The report's own counts exclude these mutants. */
  byHand: Tally;
  /**
   * The results for the mutants of the Collector. The changes come from operators.ts and guards.ts.
   */
  collector: Tally;
};

export type Tally = {
  /** The number of mutants. `tried` is the number of tested mutants. */
  changes: number;
  tried: number;
  /** The number of tested mutants that compile and whose code differs from the original code. */
  compiled: number;
  killed: number;
  /**
   * The mutants that the tests did not detect. `name` comes from {@link nameOf}, and `reason`
   * explains why the tests can pass.
   */
  survivors: { name: string; reason: string }[];
};

export const reportFile = join(import.meta.dirname, "report.json");

export const readReport = (): Report => JSON.parse(readFileSync(reportFile, "utf8"));
