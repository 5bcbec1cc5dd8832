// The loop: one pass after another until it is stopped; a pass that fails does not end it.

import type { Parts } from "./parts.ts";
import { freshMemory, runPass } from "./pass.ts";

/** Resolves once the pass under way has ended and the lease is let go. Never rejects. */
export async function run(parts: Parts, isStopped: () => boolean): Promise<void> {
  const memory = freshMemory(parts);
  while (!isStopped()) {
    try {
      await runPass(parts, memory);
    } catch (error) {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      parts.report({ kind: "pass_failed", message });
    }
    if (!isStopped()) await parts.sleep(parts.tuning.pollMs * (0.9 + parts.random() / 5));
  }
  if (memory.fence) await parts.ledger.releaseLease(memory.fence).catch(() => {});
}
