// GET /dashboard/api/addresses: what this account created, newest first, with its last observed
// state. A search may answer a short or empty page, and the cursor to go on with.

import { decodeTerms, formatAddress, InvalidError } from "executable-address";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  type AddressQuery,
  findSeen,
  listAddresses,
  type Seen,
  stateNow,
} from "../../events/list-addresses.ts";
import { findReferences } from "../../events/references.ts";
import { findOwned } from "../../store/owned.ts";
import { CorruptError } from "../../store/store.ts";
import { integerInput, parseInput, timeInput, toIso, toIsoOrNull } from "../input/schema.ts";
import { formatCursor, parseCursor, stateInput } from "../lists/filters.ts";
import type { Parts } from "../parts.ts";
import { accountIdOf } from "./session.ts";

/** `address` may be the beginning of one; any letter case. It goes with `token` alone. */
const listInput = z
  .strictObject({
    cursor: z.string().max(100).optional(),
    limit: integerInput(1, 100).default(20),
    address: z.string().max(100).optional(),
    token: z.string().max(100).optional(),
    /** Exactly this one. */
    reference: z.string().max(300).optional(),
    /** As last seen; an address without money is `expired` from its expiry by this clock. */
    state: stateInput.optional(),
    createdFrom: timeInput.optional(),
    createdUntil: timeInput.optional(),
  })
  .refine(
    ({ address, reference, state, createdFrom, createdUntil }) =>
      !address || [reference, state, createdFrom, createdUntil].every((each) => each === undefined),
    { path: ["address"], message: "expected no other filter but token beside it" },
  );

export function mountAddresses(
  app: FastifyInstance,
  { store, keccak, now }: Pick<Parts, "store" | "keccak" | "now">,
): void {
  app.get("/addresses", async (request) => {
    const asked = parseInput(listInput, request.query);
    const { cursor, limit, address, token, ...filter } = asked;
    const accountId = accountIdOf(request);
    const place = cursor === undefined ? undefined : parseCursor(cursor);
    const ofToken = token ? wholeAddress(token) : undefined;
    const isFiltered = Object.values(filter).some((each) => each !== undefined);
    const { found, next } = isFiltered
      ? await findListed(store, {
          accountId,
          cursor: place,
          limit,
          token: ofToken,
          nowMs: now(),
          ...filter,
        })
      : await findOwned(store.db, {
          accountId,
          after: place && { createdAtMs: place.atMs, address: place.address },
          addresses: address ? addressRange(address) : undefined,
          token: ofToken,
          limit,
        });
    const shown = found.map((row) => row.address);
    const references = await findReferences(store.db, accountId, shown);
    const seen = await findSeen(store.db, accountId, shown);
    return {
      items: found.map((row) => {
        const digits = Buffer.from(row.address).toString("hex");
        const intent = decodeTerms(row.terms, { keccak });
        return {
          address: formatAddress(row.address, keccak),
          reference: references.get(digits) ?? null,
          createdAt: toIso(row.createdAtMs),
          intent,
          seen: shownSeen(seen.get(digits) ?? nothingSeen, intent.expirationTimestamp, now()),
        };
      }),
      next: next
        ? formatCursor({ atMs: next.createdAtMs, address: Buffer.from(next.address) })
        : null,
    };
  });
}

const nothingSeen: Seen = {
  state: "unfunded",
  block: null,
  transactionHash: null,
  settledAtMs: null,
};

const shownSeen = (
  { state, settledAtMs, ...evidence }: Seen,
  expirationTimestamp: number,
  nowMs: number,
) => ({
  ...evidence,
  state: stateNow(state, expirationTimestamp, nowMs),
  settledAt: toIsoOrNull(settledAtMs),
});

async function findListed(store: Parts["store"], query: Omit<AddressQuery, "order">) {
  const { items, next } = await listAddresses(store.db, { ...query, order: "newest" });
  const found = await Promise.all(
    items.map(async ({ address, createdAtMs }) => {
      const terms = await store.findTerms(address);
      if (!terms) throw new CorruptError("an address of the account has no record");
      return { address, createdAtMs, terms };
    }),
  );
  return { found, next: next && { createdAtMs: next.atMs, address: next.address } };
}

/** The lowest and the highest address that begin with `text`. */
function addressRange(text: string): { from: Buffer; to: Buffer } {
  const digits = /^0x([0-9a-f]{0,40})$/i.exec(text)?.[1];
  if (digits === undefined) throw invalid("address", "expected 0x and up to 40 hex digits");
  return {
    from: Buffer.from(digits.padEnd(40, "0"), "hex"),
    to: Buffer.from(digits.padEnd(40, "f"), "hex"),
  };
}

function wholeAddress(text: string): Buffer {
  const digits = /^0x([0-9a-f]{40})$/i.exec(text)?.[1];
  if (digits === undefined) throw invalid("token", "expected 0x and 40 hex digits");
  return Buffer.from(digits, "hex");
}

const invalid = (field: string, message: string) =>
  new InvalidError([{ path: [field], code: "malformed", message }]);
