// The routes of /dashboard/api for the account: its usage, its amounts of money, its audit log, and
// its sessions.

import { formatAddress } from "executable-address";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Account } from "../../accounts/account.ts";
import { listAudit } from "../../accounts/audit.ts";
import { endSession, listSessions } from "../../accounts/sign-in/sessions.ts";
import { listUsage } from "../../accounts/usage.ts";
import { countRequested, listMoney, readPace } from "../../events/money.ts";
import { dateOf, dayOf, hourMs, toIso } from "../../flow/days.ts";
import { readActor, requireAccountId } from "../authorize/authorize.ts";
import { foundText, Refusal } from "../errors.ts";
import { integerInput, parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type * as Answers from "./answers.ts";

const activityPage = 50;

const usageInput = z.strictObject({
  hours: integerInput(1, 24 * 92).default(168),
});
const moneyInput = z.strictObject({ days: integerInput(1, 92).default(30) });
const activityInput = z.strictObject({ cursor: z.string().max(100).optional() });
const endSessionInput = z.strictObject({ id: z.string().max(100) });

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

type MoneyParts = Pick<Parts, "store" | "keccak" | "now">;

/**
 * Mounts GET /money: the amounts requested, received, executed, and returned, by day and token. The
 * requested amounts come from sums in the database. Each request first adds the amounts of the
 * account's new addresses to these sums, but only for a limited number of addresses. `isMore` is
 * true until the sums include all addresses of the account.
 */
export function mountMoney(app: FastifyInstance, { store: { db }, keccak, now }: MoneyParts): void {
  app.get("/money", async (request): Promise<Answers.Money> => {
    const { days } = parseInput(moneyInput, request.query);
    const accountId = requireAccountId(request);
    const isMore = await countRequested(db, accountId, now());
    const today = dayOf(now() / 1000);
    const [rows, pace] = await Promise.all([
      listMoney(db, accountId, today - days + 1),
      readPace(db, accountId),
    ]);
    return {
      items: rows.map(({ day, token, ...row }) => ({
        day: dateOf(day),
        token: formatAddress(token, keccak),
        ...row,
      })),
      pace,
      isMore,
    };
  });
}

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
    const { id } = parseInput(endSessionInput, request.body);
    const ended = await endSession(db, requireAccountId(request), id, readActor(request, parts));
    if (!ended)
      throw new Refusal(
        "not_found",
        `the account has no session ${foundText(id)}; the session may have ended`,
      );
    return { id };
  });
}
