// /dashboard/api/origins: the list of allowed origins, and what an entry would mean before it is
// added. spec/service.md §5, rules 6 to 10.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  type AllowedOrigin,
  addOrigin,
  listOrigins,
  removeOrigin,
} from "../../accounts/origins/origin-list.ts";
import {
  explainOrigin,
  findAllowing,
  judgeOrigin,
  originsMax,
} from "../../accounts/origins/origins.ts";
import { toIso } from "../../flow/days.ts";
import { parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type { EntryVerdict, Origins, OriginVerdict, Verdicts } from "./answers.ts";
import { accountIdOf, actorOf } from "./session.ts";

const originInput = z.strictObject({ origin: z.string().max(2000) });
const verdictInput = z.strictObject({
  entry: z.string().max(2000).optional(),
  origin: z.string().max(2000).optional(),
});

export function mountOrigins(app: FastifyInstance, parts: Pick<Parts, "store" | "now">): void {
  const { db } = parts.store;

  app.get("/origins", async (request) => answer(await listOrigins(db, accountIdOf(request))));

  app.post("/origins", async (request) => {
    const { origin } = parseInput(originInput, request.body);
    return answer(await addOrigin(db, accountIdOf(request), origin, actorOf(request, parts)));
  });

  app.delete("/origins", async (request) => {
    const { origin } = parseInput(originInput, request.body);
    return answer(await removeOrigin(db, accountIdOf(request), origin, actorOf(request, parts)));
  });

  app.post("/origins/verdict", async (request): Promise<Verdicts> => {
    const { entry, origin } = parseInput(verdictInput, request.body);
    const held = await listOrigins(db, accountIdOf(request));
    const allowed = held.map((row) => row.origin);
    return {
      entry: entry === undefined ? null : judgeEntry(entry, allowed),
      origin: origin === undefined ? null : judgeRequest(origin, allowed),
    };
  });
}

const answer = (origins: AllowedOrigin[]): Origins => ({
  origins: origins.map((row) => ({ origin: row.origin, createdAt: toIso(row.createdAtMs) })),
  max: originsMax,
});

function judgeEntry(entry: string, allowed: string[]): EntryVerdict {
  const verdict = judgeOrigin(entry);
  if (!("canonical" in verdict)) {
    return {
      ok: false,
      canonical: null,
      matches: [],
      matchesNot: [],
      message: verdict.message,
    };
  }
  const { canonical } = verdict;
  const isHeld = allowed.includes(canonical);
  const isFull = !isHeld && allowed.length >= originsMax;
  return {
    ok: !isFull,
    canonical,
    ...explainOrigin(canonical),
    message: isFull
      ? `the list holds ${allowed.length} of ${originsMax} already: remove one first`
      : isHeld
        ? "this origin is allowed already"
        : "this origin can be added",
  };
}

function judgeRequest(origin: string, allowed: string[]): OriginVerdict {
  const allowedBy = findAllowing(origin, allowed) ?? null;
  return {
    ok: allowedBy !== null,
    allowedBy,
    message:
      allowedBy === null
        ? "a page with this origin is refused: origin_not_allowed"
        : `a page with this origin is let pass by ${allowedBy}`,
  };
}
