// GET /dashboard/api/money: what the account asked for, was paid, executed and returned, by day and
// token, and how soon. An account that asked for very much is counted in several requests.

import { formatAddress } from "executable-address";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { countAsked, listMoney, readPace } from "../../events/money.ts";
import { dateOf, dayOf } from "../../flow/days.ts";
import { integerInput, parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type { Money } from "./answers.ts";
import { accountIdOf } from "./session.ts";

const moneyInput = z.strictObject({ days: integerInput(1, 92).default(30) });

type MoneyParts = Pick<Parts, "store" | "keccak" | "now">;

export function mountMoney(app: FastifyInstance, { store: { db }, keccak, now }: MoneyParts): void {
  app.get("/money", async (request): Promise<Money> => {
    const { days } = parseInput(moneyInput, request.query);
    const accountId = accountIdOf(request);
    const isMore = await countAsked(db, accountId, now());
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
