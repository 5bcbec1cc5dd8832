// Serves /dashboard/api/origins: the origins that can use the client ID. The origins follow
// spec/service.md §5, rules 6 to 10.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  type AllowedOrigin,
  addOrigin,
  findTooMany,
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
import { readActor, requireAccountId } from "../authorize/authorize.ts";
import { parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type { EntryVerdict, Origins, OriginVerdict, Verdicts } from "./answers.ts";

const originInput = z.strictObject({ origin: z.string().max(2000) });
const verdictInput = z.strictObject({
  entry: z.string().max(2000).optional(),
  origin: z.string().max(2000).optional(),
});

/**
 * Mounts the routes that list, add, and remove allowed origins. The route `/origins/verdict` shows
 * which origins a new entry would allow. It also shows whether a given origin is already allowed.
 */
export function mountOrigins(app: FastifyInstance, parts: Pick<Parts, "store" | "now">): void {
  const { db } = parts.store;

  app.get("/origins", async (request) =>
    showOrigins(await listOrigins(db, requireAccountId(request))),
  );

  app.post("/origins", async (request) => {
    const { origin } = parseInput(originInput, request.body);
    return showOrigins(
      await addOrigin(db, requireAccountId(request), origin, readActor(request, parts)),
    );
  });

  app.delete("/origins", async (request) => {
    const { origin } = parseInput(originInput, request.body);
    return showOrigins(
      await removeOrigin(db, requireAccountId(request), origin, readActor(request, parts)),
    );
  });

  app.post("/origins/verdict", async (request): Promise<Verdicts> => {
    const { entry, origin } = parseInput(verdictInput, request.body);
    const origins = await listOrigins(db, requireAccountId(request));
    const allowed = origins.map((row) => row.origin);
    return {
      entry: entry === undefined ? null : judgeEntry(entry, allowed),
      origin: origin === undefined ? null : judgeRequest(origin, allowed),
    };
  });
}

const showOrigins = (origins: AllowedOrigin[]): Origins => ({
  origins: origins.map((row) => ({ origin: row.origin, createdAt: toIso(row.createdAtMs) })),
  max: originsMax,
});

function judgeEntry(entry: string, allowed: string[]): EntryVerdict {
  const verdict = judgeOrigin(entry);
  if (verdict.kind === "refused") {
    return {
      ok: false,
      canonical: null,
      matches: [],
      matchesNot: [],
      message: verdict.message,
    };
  }
  const { canonical } = verdict;
  const isListed = allowed.includes(canonical);
  const full = isListed ? undefined : findTooMany(allowed.length);
  return {
    ok: !full,
    canonical,
    ...explainOrigin(canonical),
    message:
      full?.message ?? (isListed ? "this origin is already allowed" : "this origin can be added"),
  };
}

function judgeRequest(origin: string, allowed: string[]): OriginVerdict {
  const allowedBy = findAllowing(origin, allowed) ?? null;
  return {
    ok: allowedBy !== null,
    allowedBy,
    message:
      allowedBy === null
        ? "a page with this origin is rejected with the error origin_not_allowed"
        : `a page with this origin is accepted, because ${allowedBy} is an allowed origin`,
  };
}
