// The two credentials of an account and its id: how they are spelled, made and looked up
// (spec §5). Nothing here keeps or logs them.
//
// The last 8 hex digits are a checksum of everything before them, so that typos and junk are
// refused without the database, and a scanner tells a leaked key from any other 64 hex digits.
// docs/credentials.md has the pattern and an example.

import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { apiKeyPattern, clientIdPattern } from "executable-address/client";

export type CredentialKind = "apiKey" | "clientId";

/**
 * A text is `valid` if this service could have issued it, known or not; it has a `bad_checksum` if
 * its form is right, but it is mistyped or made up; anything else is `malformed`.
 */
type Spelling = "valid" | "bad_checksum" | "malformed";

/** Characters of an API key that are kept for display: `svc_sk_` and 8 of its 64 digits. */
const prefixLength = 15;
const checksumLength = 8;

const patterns: Record<CredentialKind, RegExp> = {
  apiKey: apiKeyPattern,
  clientId: clientIdPattern,
};

/** `svc_sk_` and 64 lower-case hex digits: 224 random bits, 32 of checksum. Shown once. */
export const newApiKey = () => withChecksum(`svc_sk_${randomBytes(28).toString("hex")}`);

/** `svc_client_` and 32 lower-case hex digits: 96 random bits, 32 of checksum. Publishable. */
export const newClientId = () => withChecksum(`svc_client_${randomBytes(12).toString("hex")}`);

/** `acc_` and 24 lower-case hex digits. */
export const newAccountId = () => `acc_${randomBytes(12).toString("hex")}`;

export function spellingOf(kind: CredentialKind, text: string): Spelling {
  if (!patterns[kind].test(text)) return "malformed";
  return withChecksum(text.slice(0, -checksumLength)) === text ? "valid" : "bad_checksum";
}

/** The part of an API key a dashboard may show. */
export const apiKeyPrefix = (apiKey: string) => apiKey.slice(0, prefixLength);

/**
 * SHA-256 of the credential's text, 32 bytes: what is stored and searched. No salt and no slow
 * hash are needed: there are 2^96 possible credentials at least, all equally likely.
 */
export const digestOf = (credential: string): Buffer => hash("sha256", credential, "buffer");

/** CRC-32 (ISO 3309, as in zlib and PNG) of the text so far, prefix included, in 8 hex digits. */
const withChecksum = (text: string) =>
  text + crc32(text).toString(16).padStart(checksumLength, "0");
