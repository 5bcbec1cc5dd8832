// Stores the account names that payers see. Only the operator can set a name. Otherwise, an account
// could request money under the name of a well-known company.

import { isName } from "executable-address/payment";
import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";
import { type Actor, appendAudit } from "./audit.ts";

const nameMax = 64;
/** Letters, digits, punctuation, symbols, and single spaces between words. */
const plainName = /^[\p{L}\p{N}\p{P}\p{S}]+( [\p{L}\p{N}\p{P}\p{S}]+)*$/u;

export const plainNames = `at most ${nameMax} visible characters, with single spaces between words`;

/**
 * Returns whether the text can be a name. In addition to the rule of the payment page, the text
 * must have no combining marks, and only single spaces.
 */
export const isPlainName = (text: string): boolean => isName(text, nameMax) && plainName.test(text);

/**
 * Sets or removes the account's name.
 *
 * @param name a name that {@link isPlainName} accepts; undefined removes the name
 */
export async function confirmName(
  db: Kysely<Tables>,
  accountId: string,
  name: string | undefined,
  actor: Actor,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (name === undefined) {
      await transaction.deleteFrom("account_names").where("account_id", "=", accountId).execute();
      return appendAudit(transaction, accountId, "name_removed", actor);
    }
    await transaction
      .insertInto("account_names")
      .values({ account_id: accountId, name })
      .onConflict((conflict) => conflict.column("account_id").doUpdateSet({ name }))
      .execute();
    await appendAudit(transaction, accountId, "name_confirmed", actor, name);
  });
}

export async function findName(db: Kysely<Tables>, accountId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("account_names")
    .select("name")
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  return row?.name;
}
