// /dashboard/api: the account, its credentials, their usage, and the audit log.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { type Account, findCredentials } from "../../accounts/account.ts";
import { listAudit } from "../../accounts/audit.ts";
import { rotateReferenceKey } from "../../accounts/reference-keys.ts";
import { rotateApiKey, rotateClientId } from "../../accounts/rotate.ts";
import { listUsage } from "../../accounts/usage.ts";
import { Refusal } from "../errors.ts";
import { integerInput, parseInput, toIso, toIsoOrNull } from "../input/schema.ts";
import type { Parts } from "../parts.ts";
import { accountIdOf, actorOf } from "./session.ts";

const hourMs = 3_600_000;
const activityPage = 50;

/** The credential that the page shows and is to be replaced; null where it shows none. */
const apiKeyInput = z.strictObject({ prefix: z.string().max(100).nullable() });
const clientIdInput = z.strictObject({ clientId: z.string().max(100).nullable() });
const usageInput = z.strictObject({
  hours: integerInput(1, 24 * 92).default(168),
});
const activityInput = z.strictObject({ cursor: z.string().max(100).optional() });

const conflict = () => new Refusal("conflict", "it was rotated meanwhile: reload, and look again");

export function mountAccount(
  app: FastifyInstance,
  parts: Pick<Parts, "store" | "now" | "desk">,
): void {
  const { db } = parts.store;

  app.get("/account", async ({ account }) => {
    const { accountId, email, createdAtMs } = account as Account;
    const gasSpent = await parts.desk.gasSpentFor(accountId);
    return { accountId, email, createdAt: toIso(createdAtMs), gasSpent };
  });

  app.get("/credentials", async (request) => {
    const { apiKey, clientId } = await findCredentials(db, accountIdOf(request));
    return {
      apiKey: apiKey
        ? { prefix: apiKey.prefix, ...times(apiKey), seenInBrowserAt: seenAt(apiKey) }
        : null,
      clientId: clientId ? { clientId: clientId.client_id, ...times(clientId) } : null,
    };
  });

  app.post("/credentials/api-key/rotate", async (request) => {
    const { prefix } = parseInput(apiKeyInput, request.body);
    const actor = actorOf(request, parts);
    const rotated = await rotateApiKey(db, accountIdOf(request), prefix, actor);
    if (!rotated) throw conflict();
    return rotated;
  });

  app.post("/credentials/client-id/rotate", async (request) => {
    const { clientId } = parseInput(clientIdInput, request.body);
    const actor = actorOf(request, parts);
    const rotated = await rotateClientId(db, accountIdOf(request), clientId, actor);
    if (!rotated) throw conflict();
    return rotated;
  });

  app.post("/credentials/reference-key/rotate", async (request) => {
    const rotated = await rotateReferenceKey(db, accountIdOf(request), actorOf(request, parts));
    if (!rotated) throw conflict();
    return rotated;
  });

  app.get("/usage", async (request) => {
    const { hours } = parseInput(usageInput, request.query);
    const found = await listUsage(db, accountIdOf(request), parts.now() - hours * hourMs);
    return { hours: found.map(({ hourMs, ...counts }) => ({ hour: toIso(hourMs), ...counts })) };
  });

  app.get("/activity", async (request) => {
    const { cursor } = parseInput(activityInput, request.query);
    const page = { cursor, limit: activityPage };
    const entries = await listAudit(db, accountIdOf(request), page);
    return {
      items: entries.map(({ atMs, event, ip, detail }) => ({ at: toIso(atMs), event, ip, detail })),
      next: entries.length === activityPage ? (entries.at(-1)?.id ?? null) : null,
    };
  });
}

type CredentialRow = { created_at: number; rotated_at: number | null; last_used_at: number | null };

const times = (row: CredentialRow) => ({
  createdAt: toIso(row.created_at),
  rotatedAt: toIsoOrNull(row.rotated_at),
  lastUsedAt: toIsoOrNull(row.last_used_at),
});

const seenAt = (row: { seen_in_browser_at: number | null }) => toIsoOrNull(row.seen_in_browser_at);
