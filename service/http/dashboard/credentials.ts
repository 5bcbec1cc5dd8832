// Serves /dashboard/api/credentials: the account's API keys, client ID, and reference key. A secret
// appears only in the response to the request that creates it.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { findCredentials } from "../../accounts/account.ts";
import {
  addApiKey,
  apiKeysMax,
  newKeyInput,
  revokeApiKey,
  rotateApiKey,
} from "../../accounts/api-keys.ts";
import { allowReferences, bindClientId, rotateClientId } from "../../accounts/client-ids.ts";
import { rotateReferenceKey } from "../../accounts/reference-keys.ts";
import { toIso, toIsoOrNull } from "../../flow/days.ts";
import { readActor, requireAccountId } from "../authorize/authorize.ts";
import { Refusal } from "../errors.ts";
import { parseInput } from "../input.ts";
import type { Parts } from "../parts.ts";
import type { Credentials, Made } from "./answers.ts";

/** Identifies an API key by its prefix, which the dashboard shows. */
const apiKeyInput = z.strictObject({ prefix: z.string().max(100) });
const boundInput = z.strictObject({ bound: z.boolean() });
const mayNameInput = z.strictObject({ mayName: z.boolean() });
const clientIdInput = z.strictObject({ clientId: z.string().max(100) });

/** @throws {Refusal} 409 if another request changed the credential first */
function unlessChanged<Made>(made: Made | undefined): Made {
  if (made) return made;
  const message =
    "another request changed this credential after the page was loaded: reload " +
    "the page and try again";
  throw new Refusal("conflict", message);
}

export function mountCredentials(app: FastifyInstance, parts: Pick<Parts, "store" | "now">): void {
  const { db } = parts.store;

  app.get("/credentials", async (request): Promise<Credentials> => {
    const { apiKeys, clientId, referenceKey } = await findCredentials(
      db,
      requireAccountId(request),
    );
    return {
      apiKeys: apiKeys.map((key) => ({
        ...{ prefix: key.prefix, name: key.name, scopes: key.scopes, ...times(key) },
        expiresAt: toIsoOrNull(key.expires_at),
        seenInBrowserAt: toIsoOrNull(key.seen_in_browser_at),
      })),
      apiKeysMax,
      clientId: {
        ...{ clientId: clientId.client_id, ...times(clientId) },
        ...{ bound: clientId.bound === 1, mayName: clientId.may_name === 1 },
      },
      referenceKey: referenceKey
        ? { number: referenceKey.number, createdAt: toIso(referenceKey.created_at) }
        : null,
    };
  });

  app.post("/credentials/api-key", async (request): Promise<Made<"apiKey">> => {
    const input = parseInput(newKeyInput, request.body);
    const actor = readActor(request, parts);
    return unlessChanged(await addApiKey(db, requireAccountId(request), input, actor));
  });

  app.delete("/credentials/api-key", async (request) => {
    const { prefix } = parseInput(apiKeyInput, request.body);
    const actor = readActor(request, parts);
    unlessChanged(await revokeApiKey(db, requireAccountId(request), prefix, actor));
    return { prefix };
  });

  app.post("/credentials/api-key/rotate", async (request): Promise<Made<"apiKey">> => {
    const { prefix } = parseInput(apiKeyInput, request.body);
    const actor = readActor(request, parts);
    return unlessChanged(await rotateApiKey(db, requireAccountId(request), prefix, actor));
  });

  app.post("/credentials/client-id/rotate", async (request): Promise<Made<"clientId">> => {
    const { clientId } = parseInput(clientIdInput, request.body);
    const actor = readActor(request, parts);
    return unlessChanged(await rotateClientId(db, requireAccountId(request), clientId, actor));
  });

  app.post("/credentials/client-id/bound", async (request) => {
    const { bound } = parseInput(boundInput, request.body);
    await bindClientId(db, requireAccountId(request), bound, readActor(request, parts));
    return { bound };
  });

  app.post("/credentials/client-id/may-name", async (request) => {
    const { mayName } = parseInput(mayNameInput, request.body);
    await allowReferences(db, requireAccountId(request), mayName, readActor(request, parts));
    return { mayName };
  });

  app.post("/credentials/reference-key/rotate", async (request): Promise<Made<"referenceKey">> => {
    const actor = readActor(request, parts);
    return unlessChanged(await rotateReferenceKey(db, requireAccountId(request), actor));
  });
}

type CredentialRow = { created_at: number; rotated_at: number | null; last_used_at: number | null };

const times = (row: CredentialRow) => ({
  createdAt: toIso(row.created_at),
  rotatedAt: toIsoOrNull(row.rotated_at),
  lastUsedAt: toIsoOrNull(row.last_used_at),
});
