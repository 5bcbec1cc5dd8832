// /dashboard/api/sessions: lists where the account is signed in, and ends one of them.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { endSession, listSessions } from "../../accounts/sessions.ts";
import { toIso } from "../../flow/days.ts";
import { foundText, Refusal } from "../errors.ts";
import { parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type { Session } from "./answers.ts";
import { accountIdOf, actorOf } from "./session.ts";

const endInput = z.strictObject({ id: z.string().max(100) });

export function mountSessions(app: FastifyInstance, parts: Pick<Parts, "store" | "now">): void {
  const { db } = parts.store;

  app.get("/sessions", async (request): Promise<{ items: Session[] }> => {
    const sessions = await listSessions(db, accountIdOf(request), parts.now());
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
    const ended = await endSession(db, accountIdOf(request), id, actorOf(request, parts));
    if (!ended)
      throw new Refusal(
        "not_found",
        `the account has no session ${foundText(id)}: it may have ended`,
      );
    return { id };
  });
}
