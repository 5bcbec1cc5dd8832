// Generates and checks the credentials of accounts: API keys and client IDs (spec §5). The
// functions in this file do not store or log credentials.
//
// The last 8 hex digits of a credential are a checksum of the text before them. The checksum lets
// the service refuse a mistyped credential without a database query. The checksum also lets secret
// scanners recognize a leaked key (docs/credentials.md).

import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { apiKeyPattern, clientIdPattern } from "executable-address/client";
import { newId } from "../flow/new-id.ts";
import { accountIdPrefix } from "../store/tables.ts";

/**
 * The permissions of an API key:
 * - `create`: create and check addresses
 * - `read`: read addresses, references, and events
 * - `webhooks`: add, change, and remove webhook endpoints
 */
export const scopes = ["create", "read", "webhooks"] as const;
export type Scope = (typeof scopes)[number];

/** Parses the column `scopes` of `api_keys`. */
export const parseScopes = (text: string) => text.split(",") as Scope[];

export type CredentialKind = "apiKey" | "clientId";

/**
 * - `valid`: the format and the checksum are correct; whether the credential exists is not checked
 * - `bad_checksum`: only the checksum is wrong, for example because of a typing error
 * - `malformed`: the format is wrong
 */
type Spelling = "valid" | "bad_checksum" | "malformed";

/**
 * The length of an API key's prefix: `svc_sk_` and 8 of the key's 64 digits. The prefix is stored
 * for display.
 */
const prefixLength = 15;
const checksumLength = 8;

const patterns: Record<CredentialKind, RegExp> = {
  apiKey: apiKeyPattern,
  clientId: clientIdPattern,
};

/**
 * Generates an API key, which matches `apiKeyPattern`. The digits encode 224 random bits and a
 * checksum of 32 bits.
 */
export const newApiKey = () => withChecksum(newId(apiKeyPattern, checksumLength));

/**
 * Generates a client ID, which is public and matches `clientIdPattern`. The digits encode 96 random
 * bits and a checksum of 32 bits.
 */
export const newClientId = () => withChecksum(newId(clientIdPattern, checksumLength));

/** Generates an account ID: `acc_` and 24 lowercase hex digits. */
export const newAccountId = () => `${accountIdPrefix}${randomBytes(12).toString("hex")}`;

/** Checks the format and the checksum of a credential, without a database query. */
export function checkSpelling(kind: CredentialKind, text: string): Spelling {
  if (!patterns[kind].test(text)) return "malformed";
  return withChecksum(text.slice(0, -checksumLength)) === text ? "valid" : "bad_checksum";
}

/** Returns the prefix of an API key, which the dashboard shows. */
export const apiKeyPrefix = (apiKey: string) => apiKey.slice(0, prefixLength);

/**
 * Returns the SHA-256 of the credential's text (32 bytes). The database stores this digest instead
 * of the text. Credentials have at least 96 random bits, so a salt or a slow hash is not needed.
 */
export const digestCredential = (credential: string): Buffer =>
  hash("sha256", credential, "buffer");

/** Appends the CRC-32 of `text` in 8 hex digits (ISO 3309, as in zlib and PNG). */
const withChecksum = (text: string) =>
  text + crc32(text).toString(16).padStart(checksumLength, "0");
