// The route of /dashboard/api that lists amounts of money.

import { formatAddress } from "executable-address";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { countRequested, listMoney, readPace } from "../../events/money.ts";
import { dateOf, dayOf } from "../../flow/days.ts";
import { requireAccountId } from "../authorize/authorize.ts";
import { integerInput, parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type * as Answers from "./answers.ts";

const moneyInput = z.strictObject({ days: integerInput(1, 92).default(30) });

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
