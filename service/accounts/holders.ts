// Finds the account of a credential: read from the primary at each request, never from a cache, so
// that a rotated key is dead at once on every server (spec §5, rule 5).

import type { KeyedQuery, Store } from "../store/store.ts";

export type Holders = {
  /**
   * @param digest SHA-256 of the credential's text, 32 bytes
   * @throws {UnavailableError}
   */
  findApiKey(digest: Uint8Array): Promise<{ accountId: string } | undefined>;

  /** The same by a client ID, with the account's origins, sorted. */
  findClientId(digest: Uint8Array): Promise<{ accountId: string; origins: string[] } | undefined>;
};

const apiKeyQuery: KeyedQuery = {
  name: "find-api-keys",
  sqlite: `select account_id as "accountId" from api_keys where digest = ?`,
  postgres: `select digest as key, account_id as "accountId" from api_keys
    where digest = any($1::bytea[])`,
};

const clientIdQuery: KeyedQuery = {
  name: "find-client-ids",
  sqlite: `select c.account_id as "accountId", o.origin from client_ids c
    left join origins o on o.account_id = c.account_id where c.digest = ? order by o.origin`,
  postgres: `select c.digest as key, c.account_id as "accountId", o.origin from client_ids c
    left join origins o on o.account_id = c.account_id
    where c.digest = any($1::bytea[]) order by o.origin collate "C"`,
};

export function openHolders({ readerOf }: Pick<Store, "readerOf">): Holders {
  const apiKeys = readerOf<{ accountId: string }>(apiKeyQuery);
  const clientIds = readerOf<{ accountId: string; origin: string | null }>(clientIdQuery);
  return {
    async findApiKey(digest) {
      const [row] = await apiKeys(digest);
      return row && { accountId: row.accountId };
    },
    async findClientId(digest) {
      const rows = await clientIds(digest);
      if (!rows[0]) return undefined;
      const origins = rows.flatMap(({ origin }) => (origin === null ? [] : [origin]));
      return { accountId: rows[0].accountId, origins };
    },
  };
}
