// The routes of /dashboard/api for the account, its usage, and its audit log.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Account } from "../../accounts/account.ts";
import { listAudit } from "../../accounts/audit.ts";
import { listUsage } from "../../accounts/usage.ts";
import { hourMs, toIso } from "../../flow/days.ts";
import { requireAccountId } from "../authorize/authorize.ts";
import { integerInput, parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type * as Answers from "./answers.ts";

const activityPage = 50;

const usageInput = z.strictObject({
  hours: integerInput(1, 24 * 92).default(168),
});
const activityInput = z.strictObject({ cursor: z.string().max(100).optional() });

export const showAccount = ({ accountId, email, createdAtMs }: Account): Answers.Account => ({
  accountId,
  email,
  createdAt: toIso(createdAtMs),
});

export function mountAccount(
  app: FastifyInstance,
  parts: Pick<Parts, "store" | "now" | "executorClient">,
): void {
  const { db } = parts.store;

  app.get("/account", async (request): Promise<Answers.SpendingAccount> => {
    const gasSpent = await parts.executorClient.readGasSpent(requireAccountId(request));
    return { ...showAccount(request.account as Account), gasSpent };
  });

  app.get("/usage", async (request): Promise<{ hours: Answers.UsageHour[] }> => {
    const { hours } = parseInput(usageInput, request.query);
    const found = await listUsage(db, requireAccountId(request), parts.now() - hours * hourMs);
    return { hours: found.map(({ hourMs, ...counts }) => ({ hour: toIso(hourMs), ...counts })) };
  });

  app.get("/activity", async (request): Promise<Answers.Page<Answers.Activity>> => {
    const { cursor } = parseInput(activityInput, request.query);
    const page = { cursor, limit: activityPage };
    const entries = await listAudit(db, requireAccountId(request), page);
    return {
      items: entries.map(({ atMs, event, ip, detail }) => ({ at: toIso(atMs), event, ip, detail })),
      next: entries.length === activityPage ? (entries.at(-1)?.id ?? null) : null,
    };
  });
}
