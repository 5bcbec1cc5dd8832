// Finds the account of a credential, and the settings of the credential.

import type { KeyedQuery, Store } from "../store/store.ts";
import { parseScopes, type Scope } from "./credentials.ts";

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
