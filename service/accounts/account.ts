// Creates and finds accounts. Accounts are created by sign-ups and by operators, and are never
// removed.

import type { Kysely } from "kysely";
import { z } from "zod";
import type { Tables } from "../store/tables.ts";
import { listApiKeys } from "./api-keys.ts";
import { type Actor, appendAudit } from "./audit.ts";
import { digestCredential, newAccountId, newClientId } from "./credentials.ts";

export type Account = { accountId: string; email: string; createdAtMs: number };

/** Returns whether the email address is valid. better-auth uses the same rule at sign-in. */
export const isEmail = (text: string) => z.email().safeParse(normalizeEmail(text)).success;

/** @param email as typed, in any letter case */
export const normalizeEmail = (email: string) => email.trim().toLowerCase();

/**
 * Creates an account with a client ID. Does not create an API key. Only the user who creates a key
 * can see it. The call is idempotent: if the account `accountId` exists, returns the existing
 * account.
 *
 * @param accountId the ID of the user who signed up; if absent, generates an ID
 * @returns the account, or undefined if another account has this email
 */
export async function createAccount(
  db: Kysely<Tables>,
  email: string,
  actor: Actor,
  accountId: string = newAccountId(),
): Promise<Account | undefined> {
  return db.transaction().execute(async (transaction) => {
    const inserted = await transaction
      .insertInto("accounts")
      .values({ id: accountId, email: normalizeEmail(email), created_at: actor.atMs })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    if (inserted.numInsertedOrUpdatedRows) {
      const clientId = newClientId();
      const digest = digestCredential(clientId);
      await transaction
        .insertInto("client_ids")
        .values({
          ...{ account_id: accountId, digest, client_id: clientId, created_at: actor.atMs },
          bound: 0,
        })
        .execute();
      await appendAudit(transaction, accountId, "account_created", actor);
    }
    return findAccount(transaction, { accountId });
  });
}

export async function findAccount(
  db: Kysely<Tables>,
  by: { accountId: string } | { email: string },
): Promise<Account | undefined> {
  const query = db.selectFrom("accounts").select(["id", "email", "created_at"]);
  const found = await ("accountId" in by
    ? query.where("id", "=", by.accountId)
    : query.where("email", "=", normalizeEmail(by.email))
  ).executeTakeFirst();
  if (!found) return undefined;
  return { accountId: found.id, email: found.email, createdAtMs: Number(found.created_at) };
}

/** Returns the account's credentials for display, without their secrets and digests. */
export async function findCredentials(db: Kysely<Tables>, accountId: string) {
  const [apiKeys, clientId, referenceKey] = await Promise.all([
    listApiKeys(db, accountId),
    db
      .selectFrom("client_ids")
      .select(["client_id", "bound", "may_name", "created_at", "rotated_at", "last_used_at"])
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom("reference_keys")
      .select(["number", "created_at"])
      .where("account_id", "=", accountId)
      .orderBy("number", "desc")
      .limit(1)
      .executeTakeFirst(),
  ]);
  return { apiKeys, clientId, referenceKey };
}
