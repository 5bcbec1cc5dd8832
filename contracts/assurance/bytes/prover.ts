// Z3, from npm, as a function from a condition to whether anything satisfies it.

import { init, killThreads } from "z3-solver";
import { declarations } from "./cases.ts";
import { type Bool, smtBool } from "./terms.ts";

type Prover = {
  /** Whether any case at all satisfies `condition`. Throws where the solver does not know. */
  satisfiable(condition: Bool): Promise<boolean>;
  /** Ends the solver's threads, which keep a process alive. */
  close(): Promise<void>;
};

export async function openProver(): Promise<Prover> {
  const { Context, em } = await init();
  const { Solver } = Context("main");
  /** Answers by a condition's text: two of three changed bytes give one that was there before. */
  const answers = new Map<string, boolean>();
  return {
    async satisfiable(condition) {
      if (typeof condition === "boolean") return condition;
      const text = smtBool(condition);
      const known = answers.get(text);
      if (known !== undefined) return known;
      const solver = new Solver("QF_UFBV");
      try {
        // Not eval_smtlib2_string: its thread reads the text after the caller has given it back.
        solver.fromString(`${declarations}(assert ${text})`);
        const answer = await solver.check();
        if (answer === "unknown") throw new Error(`z3: ${solver.reasonUnknown()}`);
        answers.set(text, answer === "sat");
        return answer === "sat";
      } finally {
        // Else the garbage collector does it, while Z3's thread checks the next condition in the
        // same memory: the thread then fails or never ends.
        solver.release();
      }
    },
    close: () => killThreads(em),
  };
}
