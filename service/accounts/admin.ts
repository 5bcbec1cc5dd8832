// Defines the operator's commands for accounts. The commands change the database. Servers do not
// cache credentials or origins, so each change applies immediately.

import { InvalidError } from "executable-address";
import type { Kysely } from "kysely";
import type { Command, CommandContext, Given } from "../admin/command.ts";
import { toIso, toIsoOrNull } from "../flow/days.ts";
import type { Tables } from "../store/tables.ts";
import { type Account, createAccount, findAccount, findCredentials, isEmail } from "./account.ts";
import {
  addApiKey,
  listApiKeys,
  type NewApiKey,
  newKeyInput,
  revokeApiKey,
  rotateApiKey,
  wholeKey,
} from "./api-keys.ts";
import type { Actor } from "./audit.ts";
import { allowReferences, bindClientId, rotateClientId } from "./client-ids.ts";
import { confirmName, findName, isPlainName, plainNames } from "./names.ts";
import { listOrigins, setOrigins } from "./origins/origin-list.ts";
import { rotateReferenceKey } from "./reference-keys.ts";
import { ensureSecret } from "./secret.ts";
import { openSignIn } from "./sign-in/sign-in.ts";

const operator = (): Actor => ({ atMs: Date.now() });
const account = { account: "ID" };
const email = { email: "E" };

/**
 * Creates an account with an API key that has every scope.
 * @returns the account's ID, API key, and client ID, or undefined if the email is taken
 */
export async function createWithKey(db: Kysely<Tables>, email: string, actor: Actor) {
  const created = await createAccount(db, email, actor);
  if (!created) return undefined;
  const { accountId } = created;
  const key = await addApiKey(db, accountId, wholeKey, actor);
  const { clientId } = await findCredentials(db, accountId);
  return { accountId, apiKey: key!.apiKey, clientId: clientId.client_id };
}

const ofAccounts: Command[] = [
  {
    words: "account create",
    does: "Creates an account, and prints its API key and client ID.",
    options: email,
    makesDatabase: true,
    async run({ store: { db } }, { options }) {
      if (!isEmail(options.email as string)) {
        throw new Error(`--email: expected an email address, found ${options.email}`);
      }
      const created = await createWithKey(db, options.email as string, operator());
      if (!created) throw new Error(`an account with the email ${options.email} already exists`);
      return created;
    },
  },
  {
    words: "account list",
    does: "Lists all accounts.",
    async run({ store: { db } }) {
      const rows = await db.selectFrom("accounts").selectAll().orderBy("created_at").execute();
      return rows.map((row) => shown({ ...row, accountId: row.id, createdAtMs: row.created_at }));
    },
  },
  {
    words: "account show",
    does: "Shows the credentials and origins of the account with this ID or email.",
    options: { ...account, ...email },
    optional: ["account", "email"],
    async run({ store: { db } }, { options }) {
      return describe(db, await requireAccount(db, options));
    },
  },
  {
    words: "account name",
    does: "Confirms the name that payers see for an account. Without --name, removes the name.",
    options: { ...account, ...email, name: "NAME" },
    optional: ["account", "email", "name"],
    async run({ store: { db } }, { options }) {
      const { accountId } = await requireAccount(db, options);
      const { name } = options;
      requirePlain(name);
      await confirmName(db, accountId, name, operator());
      return { accountId, name: name ?? null };
    },
  },
  {
    words: "account reset",
    does: "Prints a link with which the account's owner can set a new password.",
    options: email,
    async run({ store, publicUrl }, { options }) {
      const secret = await ensureSecret(store.db);
      const signIn = openSignIn(store, { publicUrl, signup: "closed", secret });
      const token = await signIn.makeResetSecret(options.email as string, operator());
      if (!token) throw new Error(`no account has the email ${options.email}`);
      // The token is in the fragment of the URL. Browsers do not send fragments to servers.
      return { resetUrl: `${publicUrl}/reset#token=${token}` };
    },
  },
];

const ofApiKeys: Command[] = [
  {
    words: "key create",
    does: "Creates an API key with these scopes, or with every scope.",
    options: { ...account, name: "NAME", expires: "TIME" },
    optional: ["name", "expires"],
    rest: "[SCOPE ...]",
    async run({ store: { db } }, { options, rest }) {
      const { accountId } = await requireAccount(db, options);
      const made = await addApiKey(db, accountId, parseNewKey(options, rest), operator());
      if (!made) throw new Error(`${accountId}: another key was created simultaneously: try again`);
      return made;
    },
  },
  {
    words: "key rotate",
    does: "Replaces an API key. The old key stops working immediately.",
    options: { ...account, key: "PREFIX" },
    optional: ["key"],
    async run({ store: { db } }, { options }) {
      const { accountId } = await requireAccount(db, options);
      const prefix = await choosePrefix(db, accountId, options.key);
      const rotated = await rotateApiKey(db, accountId, prefix, operator());
      if (!rotated) throw new Error(`the key ${prefix} has expired or was rotated or revoked`);
      return { apiKey: rotated.apiKey };
    },
  },
  {
    words: "key revoke",
    does: "Revokes an API key immediately and permanently.",
    options: { ...account, key: "PREFIX" },
    async run({ store: { db } }, { options }) {
      const { accountId } = await requireAccount(db, options);
      const prefix = await choosePrefix(db, accountId, options.key);
      return { revoked: await revokeApiKey(db, accountId, prefix, operator()), prefix };
    },
  },
];

/** The commands for reference keys, client IDs, and origins. */
const ofPages: Command[] = [
  {
    words: "reference-key rotate",
    does: "Creates and prints a reference key. The salts of new references are derived from it.",
    options: account,
    async run({ store: { db } }, { options }) {
      const { accountId } = await requireAccount(db, options);
      const rotated = await rotateReferenceKey(db, accountId, operator());
      if (!rotated)
        throw new Error(`${accountId}: the reference key was rotated simultaneously: try again`);
      return rotated;
    },
  },
  {
    words: "client-id rotate",
    does: "Replaces the client ID. The old client ID stops working immediately.",
    options: account,
    async run({ store: { db } }, { options }) {
      const { accountId } = await requireAccount(db, options);
      const { clientId } = await findCredentials(db, accountId);
      const old = clientId.client_id;
      const rotated = await rotateClientId(db, accountId, old, operator());
      if (!rotated) throw new Error(`the client ID ${old} was rotated simultaneously: try again`);
      return rotated;
    },
  },
  ...(["bind", "unbind"] as const).map((word) => ({
    words: `client-id ${word}`,
    does:
      word === "bind"
        ? "Requires the account's server to sign each intent that the client ID creates."
        : "Lets the client ID create addresses without a signature.",
    options: account,
    async run({ store: { db } }: CommandContext, { options }: Given) {
      const { accountId } = await requireAccount(db, options);
      await bindClientId(db, accountId, word === "bind", operator());
      return { accountId, bound: word === "bind" };
    },
  })),
  ...(["allow", "refuse"] as const).map((word) => ({
    words: `client-id ${word}-references`,
    does:
      word === "allow"
        ? "Lets the client ID set the references of addresses."
        : "Rejects requests in which the client ID sets a reference.",
    options: account,
    async run({ store: { db } }: CommandContext, { options }: Given) {
      const { accountId } = await requireAccount(db, options);
      await allowReferences(db, accountId, word === "allow", operator());
      return { accountId, mayName: word === "allow" };
    },
  })),
  {
    words: "origins set",
    does: "Replaces the list of origins whose pages can use the client ID.",
    options: account,
    rest: "O1 O2 ...",
    async run({ store: { db } }, { options, rest }) {
      const { accountId } = await requireAccount(db, options);
      try {
        const origins = await setOrigins(db, accountId, rest, operator());
        return { origins: origins.map(({ origin }) => origin) };
      } catch (error) {
        if (error instanceof InvalidError) throw new Error(describeRefused(error, rest));
        throw error;
      }
    },
  },
];

export const accountCommands: Command[] = [...ofAccounts, ...ofApiKeys, ...ofPages];

/** Returns an account with its credentials and origins for display, without secrets. */
async function describe(db: Kysely<Tables>, account: Account) {
  const { apiKeys, clientId } = await findCredentials(db, account.accountId);
  const origins = await listOrigins(db, account.accountId);
  return {
    ...shown(account),
    name: (await findName(db, account.accountId)) ?? null,
    apiKeys: apiKeys.map((key) => ({
      ...{ prefix: key.prefix, name: key.name, scopes: key.scopes },
      ...{ expiresAt: toIsoOrNull(key.expires_at), lastUsedAt: toIsoOrNull(key.last_used_at) },
      seenInBrowserAt: toIsoOrNull(key.seen_in_browser_at),
    })),
    clientId: clientId.client_id,
    clientIdBound: clientId.bound === 1,
    clientIdMayName: clientId.may_name === 1,
    clientIdLastUsedAt: toIsoOrNull(clientId.last_used_at),
    origins: origins.map(({ origin }) => origin),
  };
}

function requirePlain(name: string | undefined): void {
  if (name === undefined || isPlainName(name)) return;
  throw new Error(`--name: expected ${plainNames}, found ${JSON.stringify(name)}`);
}

/** @throws if an argument is invalid; the error names the option */
function parseNewKey({ name, expires }: Given["options"], rest: string[]): NewApiKey {
  const given = { name, expiresAt: expires, scopes: rest.length > 0 ? rest : undefined };
  const parsed = newKeyInput.safeParse(given, { reportInput: true });
  if (parsed.success) return parsed.data;
  const { path, message, input } = parsed.error.issues[0]!;
  const argument = { name: "--name", expiresAt: "--expires" }[String(path[0])] ?? "SCOPE";
  throw new Error(`${argument}: ${message}, found ${JSON.stringify(input)}`);
}

/**
 * Returns the prefix of the API key that the option `--key` selects.
 *
 * @param text the key or its prefix; if undefined, the account must have exactly one key
 */
async function choosePrefix(db: Kysely<Tables>, accountId: string, text: string | undefined) {
  const prefixes = (await listApiKeys(db, accountId)).map(({ prefix }) => prefix);
  const found =
    text === undefined ? prefixes : prefixes.filter((prefix) => text.startsWith(prefix));
  if (found.length === 1) return found[0]!;
  if (prefixes.length === 0)
    throw new Error(`the account ${accountId} has no API key: create one with key create`);
  // The message does not quote the value of --key, which can be a secret key.
  throw new Error(
    `--key: expected a key that begins with ${prefixes.join(" or ")}, found ` +
      (text === undefined ? "no --key" : "a different key"),
  );
}

async function requireAccount(db: Kysely<Tables>, options: Given["options"]): Promise<Account> {
  if (!options.account && !options.email)
    throw new Error("expected --account ID or --email E, found neither");
  const by = options.account ? { accountId: options.account } : { email: options.email ?? "" };
  const found = await findAccount(db, by);
  if (found) return found;
  throw new Error(`no account has the ${options.account ? "ID" : "email"} ${Object.values(by)[0]}`);
}

function describeRefused({ issues }: InvalidError, entries: string[]): string {
  const lines = issues.map(({ path, message }) => {
    const entry = entries[path[1] as number];
    return entry === undefined ? message : `${entry}: ${message}`;
  });
  return `nothing was changed: ${lines.join("; ")}`;
}

const shown = ({ accountId, email, createdAtMs }: Account) => ({
  accountId,
  email,
  createdAt: toIso(createdAtMs),
});
