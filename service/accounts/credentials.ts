// Generates and checks the credentials of accounts: API keys and client IDs (spec §5). Also finds
// the account of a credential. The functions in this file do not store or log credentials.
//
// The last 8 hex digits of a credential are a checksum of the text before them. The checksum lets
// the service refuse a mistyped credential without a database query. The checksum also lets secret
// scanners recognize a leaked key (docs/credentials.md).

import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { apiKeyPattern, clientIdPattern } from "executable-address/client";
import { newId } from "../flow/new-id.ts";
import type { KeyedQuery, Store } from "../store/store.ts";
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

type KeyHolder = {
  accountId: string;
  /** The number of the key within its account. Each key of an account has its own rate limit. */
  number: number;
  scopes: Scope[];
  /** Unix milliseconds, or null if the key does not expire. */
  expiresAtMs: number | null;
};

/**
 * Finds the account of a credential. Each call reads the primary database, so a rotated credential
 * stops working immediately (spec §5, rule 5).
 */
export type Holders = {
  /**
   * Finds the account, number, scopes, and expiry of an API key.
   *
   * @param digest SHA-256 of the credential's text, 32 bytes
   * @throws {UnavailableError}
   */
  findApiKey(digest: Uint8Array): Promise<KeyHolder | undefined>;

  /** Finds the account of a client ID, the client ID's settings, and its allowed origins. */
  findClientId(digest: Uint8Array): Promise<ClientIdHolder | undefined>;
};

const keyColumns = `account_id as "accountId", number, scopes, expires_at as "expiresAtMs"`;

const apiKeyQuery: KeyedQuery = {
  name: "find-api-keys",
  sqlite: `select ${keyColumns} from api_keys where digest = ?`,
  postgres: `select digest as key, ${keyColumns} from api_keys where digest = any($1::bytea[])`,
};

const clientColumns = `c.account_id as "accountId", c.bound, c.may_name as "mayName", o.origin`;

const clientIdQuery: KeyedQuery = {
  name: "find-client-ids",
  sqlite: `select ${clientColumns} from client_ids c
    left join origins o on o.account_id = c.account_id where c.digest = ? order by o.origin`,
  postgres: `select c.digest as key, ${clientColumns} from client_ids c
    left join origins o on o.account_id = c.account_id
    where c.digest = any($1::bytea[]) order by o.origin collate "C"`,
};

type ClientIdRow = { accountId: string; bound: number; mayName: number; origin: string | null };

type ClientIdHolder = {
  accountId: string;
  /** Whether each create request with the client ID needs a signature by the account's server. */
  isBound: boolean;
  /** Whether the client ID can set references for the addresses that it creates. */
  mayName: boolean;
  /** In ascending order. */
  origins: string[];
};

export function openHolders({ readerOf }: Pick<Store, "readerOf">): Holders {
  const apiKeys = readerOf<Omit<KeyHolder, "scopes"> & { scopes: string }>(apiKeyQuery);
  const clientIds = readerOf<ClientIdRow>(clientIdQuery);
  return {
    async findApiKey(digest) {
      const [row] = await apiKeys(digest);
      if (!row) return undefined;
      const { accountId, number, scopes, expiresAtMs } = row;
      return { accountId, number, scopes: parseScopes(scopes), expiresAtMs };
    },
    async findClientId(digest) {
      const rows = await clientIds(digest);
      if (!rows[0]) return undefined;
      const { accountId, bound, mayName } = rows[0];
      const origins = rows.flatMap(({ origin }) => (origin === null ? [] : [origin]));
      return { accountId, isBound: bound === 1, mayName: mayName === 1, origins };
    },
  };
}
