// Signatures of Standard Webhooks 1.0: `v1` HMAC-SHA256 for the receiver, and `v1a` ed25519, which
// the receiver can show to others. https://www.standardwebhooks.com

import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from "node:crypto";
import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";

/** `whsec_` and 32 random bytes in base64. */
export const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`;

export type SigningKey = {
  /** `whpk_` and the 32 bytes in base64. */
  publicKey: string;
  sign(content: string): string;
};

/** The service's key: drawn once and kept in the store. */
export async function readSigningKey(db: Kysely<Tables>): Promise<SigningKey> {
  const drawn = generateKeyPairSync("ed25519").privateKey;
  await db
    .insertInto("webhook_keys")
    .values({
      id: 1,
      private_key: drawn.export({ type: "pkcs8", format: "der" }).toString("base64"),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { private_key: held } = await db
    .selectFrom("webhook_keys")
    .select("private_key")
    .where("id", "=", 1)
    .executeTakeFirstOrThrow();
  const der = { key: Buffer.from(held, "base64"), format: "der", type: "pkcs8" } as const;
  const key = createPrivateKey(der);
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return {
    publicKey: `whpk_${Buffer.from(x, "base64url").toString("base64")}`,
    sign: (content) => sign(null, Buffer.from(content), key).toString("base64"),
  };
}

/** @param secrets those valid now, at most two; @param atMs Unix milliseconds */
export function signedHeaders(
  id: string,
  body: string,
  { secrets, key, atMs }: { secrets: readonly string[]; key: SigningKey; atMs: number },
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000));
  const content = `${id}.${timestamp}.${body}`;
  const hmacs = secrets.map((secret) => {
    const bytes = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", bytes).update(content).digest("base64")}`;
  });
  return {
    "content-type": "application/json",
    "user-agent": "executable-address-webhooks/1",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": [...hmacs, `v1a,${key.sign(content)}`].join(" "),
  };
}
