// Signs deliveries according to Standard Webhooks 1.0. The signature `v1` is HMAC-SHA256, which the
// receiver verifies with its secret. The signature `v1a` is Ed25519, which anyone can verify.
// https://www.standardwebhooks.com

import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from "node:crypto";
import { publicKeyPrefix, secretPrefix } from "executable-address/client/internal";
import type { Kysely } from "kysely";
import { dayMs, toIsoOrNull } from "../flow/days.ts";
import type { Tables } from "../store/tables.ts";

/** How long deliveries are also signed with the previous secret or key after a rotation. */
export const overlapMs = dayMs;

/** Generates a secret: `whsec_` and 32 random bytes in base64. */
export const newSecret = () => `${secretPrefix}${randomBytes(32).toString("base64")}`;

export type SigningKey = {
  /** `whpk_` and the 32 bytes of the public key in base64. */
  publicKey: string;
  /**
   * The time, in Unix milliseconds, until which deliveries are signed with this key. Null for the
   * newest key.
   */
  untilMs: number | null;
  sign(content: string): string;
};

/** Returns the service's valid signing keys, newest first. Generates a key if there is none. */
export async function ensureSigningKeys(db: Kysely<Tables>, nowMs: number): Promise<SigningKey[]> {
  const read = () =>
    db
      .selectFrom("webhook_keys")
      .select(["private_key", "until"])
      .where((eb) => eb.or([eb("until", "is", null), eb("until", ">", nowMs)]))
      .orderBy("id", "desc")
      .execute();
  let rows = await read();
  if (rows.length === 0) {
    await insertKey(db, 1)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    rows = await read();
  }
  return rows.map(({ private_key, until }) => signingKey(private_key, until && Number(until)));
}

/**
 * Generates a new key. For a day, deliveries are also signed with the previous key. Receivers have
 * this day to fetch the list of public keys again. Keys that are older than the previous key become
 * invalid immediately.
 *
 * @returns the valid signing keys, newest first
 */
export async function rotateSigningKey(db: Kysely<Tables>, nowMs: number): Promise<SigningKey[]> {
  await ensureSigningKeys(db, nowMs);
  await db.transaction().execute(async (transaction) => {
    const { id } = await transaction
      .selectFrom("webhook_keys")
      .select("id")
      .where("until", "is", null)
      .executeTakeFirstOrThrow();
    await transaction.deleteFrom("webhook_keys").where("until", "is not", null).execute();
    await transaction
      .updateTable("webhook_keys")
      .set({ until: nowMs + overlapMs })
      .execute();
    await insertKey(transaction, Number(id) + 1).execute();
  });
  return ensureSigningKeys(db, nowMs);
}

/** Returns the key's entry in the list of public keys. */
export const shownKey = ({ publicKey, untilMs }: SigningKey) => ({
  publicKey,
  until: toIsoOrNull(untilMs),
});

function insertKey(db: Kysely<Tables>, id: number) {
  const drawn = generateKeyPairSync("ed25519").privateKey;
  const private_key = drawn.export({ type: "pkcs8", format: "der" }).toString("base64");
  return db.insertInto("webhook_keys").values({ id, private_key, until: null });
}

function signingKey(privateKey: string, untilMs: number | null): SigningKey {
  const der = { key: Buffer.from(privateKey, "base64"), format: "der", type: "pkcs8" } as const;
  const key = createPrivateKey(der);
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return {
    publicKey: `${publicKeyPrefix}${Buffer.from(x, "base64url").toString("base64")}`,
    untilMs,
    sign: (content) => sign(null, Buffer.from(content), key).toString("base64"),
  };
}

/**
 * Returns the headers of a delivery, with a signature for each of the `secrets` and `keys`. The
 * caller passes the valid secrets and keys, at most two each. `atMs` is in Unix milliseconds.
 */
export function signedHeaders(
  id: string,
  body: string,
  { secrets, keys, atMs }: { secrets: readonly string[]; keys: SigningKey[]; atMs: number },
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000));
  const content = `${id}.${timestamp}.${body}`;
  const hmacs = secrets.map((secret) => {
    const bytes = Buffer.from(secret.replace(secretPrefix, ""), "base64");
    return `v1,${createHmac("sha256", bytes).update(content).digest("base64")}`;
  });
  return {
    "content-type": "application/json",
    "user-agent": "executable-address-webhooks/1",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": [...hmacs, ...keys.map((key) => `v1a,${key.sign(content)}`)].join(" "),
  };
}
