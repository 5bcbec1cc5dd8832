// GET /dashboard/api/statuses?addresses=0x…,0x…: what a page of addresses is on its chains now, in
// one request. They are read in one turn, so those of a chain share its calls.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { limitLogs, messageKind } from "../../flow/log-limit.ts";
import { toRefusal } from "../errors.ts";
import { parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type { Statuses } from "../status/status.ts";
import type { FoundStatus } from "./answers.ts";

const statusesMax = 20;
const statusesInput = z.strictObject({
  addresses: z
    .string()
    .max(statusesMax * 43)
    .transform((text) => [...new Set(text.split(","))])
    .pipe(z.array(z.string()).min(1).max(statusesMax)),
});

/** Each fails alone, such as for a chain that does not answer or a corrupt record. */
export function mountStatuses(
  app: FastifyInstance,
  { log }: Pick<Parts, "log">,
  statuses: Statuses,
): void {
  const logLimited = limitLogs();
  app.get("/statuses", async (request) => {
    const { addresses } = parseInput(statusesInput, request.query);
    const items = addresses.map(async (address): Promise<FoundStatus> => {
      try {
        return { address, status: await statuses.read(await statuses.readSubject(address)) };
      } catch (error) {
        const { code } = toRefusal(error);
        if (code === "internal_error") {
          logLimited(messageKind(String(error)), (leftOut) =>
            log.error({ err: error, address, leftOut }, "a status failed"),
          );
        }
        return { address, error: code };
      }
    });
    return { items: await Promise.all(items) };
  });
}
