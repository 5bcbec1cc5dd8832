// GET /addresses and GET /address/{address}/mine: spec/service.md, "Lists". The account's own
// addresses, with what was last seen.

import { formatAddress, parseAddress } from "executable-address";
import { z } from "zod";
import { findListed, type ListedAddress, listAddresses } from "../../events/list-addresses.ts";
import { Refusal } from "../errors.ts";
import { integerInput, parseQuery, timeInput, toIso, toIsoOrNull } from "../input/schema.ts";
import { addressDigits, addressOf } from "../lookup/lookup.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import { apiKeyOnly } from "./caller.ts";
import { formatCursor, parseCursor, stateInput } from "./filters.ts";

const input = z.strictObject({
  order: z.enum(["newest", "oldest"]).default("newest"),
  limit: integerInput(1, 100).default(20),
  cursor: z.string().max(100).optional(),
  state: stateInput.optional(),
  token: z.string().max(100).optional(),
  chainId: integerInput(1, Number.MAX_SAFE_INTEGER).optional(),
  reference: z
    .string()
    .max(300)
    .transform((text) => text.trim().normalize("NFC"))
    .optional(),
  createdFrom: timeInput.optional(),
  createdUntil: timeInput.optional(),
  settledFrom: timeInput.optional(),
  settledUntil: timeInput.optional(),
});

export function addresses(parts: Parts): Route {
  const { store, keccak, publicUrl } = parts;
  return {
    before: [apiKeyOnly(parts)],
    async handler(request, reply) {
      const { cursor, token, ...asked } = parseQuery(input, request);
      const { accountId } = request.caller!;
      const { items, next } = await listAddresses(store.db, {
        ...asked,
        accountId,
        nowMs: parts.now(),
        isGone: () => request.raw.socket.destroyed,
        cursor: cursor === undefined ? undefined : parseCursor(cursor),
        token: token === undefined ? undefined : parseToken(token),
      });
      reply.header("cache-control", "no-store");
      return {
        items: items.map((item) => shown(item, keccak, publicUrl)),
        next: next ? formatCursor(next) : null,
      };
    },
  };
}

/** The row that the list has of one address. */
export function mine(parts: Parts): Route {
  const { store, keccak, publicUrl } = parts;
  return {
    before: [apiKeyOnly(parts)],
    async handler(request, reply) {
      parseQuery(z.strictObject({}), request);
      const address = Buffer.from(addressDigits(addressOf(request)), "hex");
      const { accountId } = request.caller!;
      const item = await findListed(store.db, { accountId, address, nowMs: parts.now() });
      if (!item) throw new Refusal("not_found", "the account has not created this address");
      reply.header("cache-control", "no-store");
      return shown(item, keccak, publicUrl);
    },
  };
}

function shown(item: ListedAddress, keccak: Parts["keccak"], publicUrl: string) {
  const address = formatAddress(item.address, keccak);
  return {
    address,
    recordUrl: `${publicUrl}/v1/address/${address}`,
    reference: item.reference,
    createdBy: item.createdBy,
    createdAt: toIso(item.createdAtMs),
    chainId: item.chainId,
    token: formatAddress(item.token, keccak),
    amount: item.amount,
    state: item.state,
    block: item.block,
    transactionHash: item.transactionHash,
    settledAt: toIsoOrNull(item.settledAtMs),
  };
}

const parseToken = (text: string) =>
  Buffer.from(parseAddress(text, { path: ["token"] }).slice(2), "hex");
