// The routes of /dashboard/api for the account's sessions.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { endSession, listSessions } from "../../accounts/sign-in/sessions.ts";
import { toIso } from "../../flow/days.ts";
import { readActor, requireAccountId } from "../authorize/authorize.ts";
import { foundText, Refusal } from "../errors.ts";
import { parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type * as Answers from "./answers.ts";

const endInput = z.strictObject({ id: z.string().max(100) });

/** Mounts the routes that list the account's sessions and end a session. */
export function mountSessions(app: FastifyInstance, parts: Pick<Parts, "store" | "now">): void {
  const { db } = parts.store;

  app.get("/sessions", async (request): Promise<{ items: Answers.Session[] }> => {
    const sessions = await listSessions(db, requireAccountId(request), parts.now());
    return {
      items: sessions.map(({ id, createdAtMs, renewedAtMs, expiresAtMs, userAgent }) => ({
        id,
        createdAt: toIso(createdAtMs),
        renewedAt: toIso(renewedAtMs),
        expiresAt: toIso(expiresAtMs),
        userAgent,
        isThis: id === request.sessionId,
      })),
    };
  });

  app.delete("/sessions", async (request) => {
    const { id } = parseInput(endInput, request.body);
    const ended = await endSession(db, requireAccountId(request), id, readActor(request, parts));
    if (!ended)
      throw new Refusal(
        "not_found",
        `the account has no session ${foundText(id)}; the session may have ended`,
      );
    return { id };
  });
}
