// GET /dashboard/api/addresses: what this account created, newest first, with what was last seen of
// it. A search may answer fewer than there are, none included, and where to go on.

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
import { findOwned, type OwnedPlace } from "../../store/owned.ts";
import { CorruptError } from "../../store/store.ts";
import { stateInput, timeInput } from "../lists/addresses.ts";
import type { Parts } from "../parts.ts";
import { integerInput, parseInput } from "./input.ts";
import { accountIdOf, toIso, toIsoOrNull } from "./session.ts";

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
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const ofToken = token ? wholeAddress(token) : undefined;
    const isFiltered = Object.values(filter).some((each) => each !== undefined);
    const { found, next } = isFiltered
      ? await findListed(store, {
          accountId,
          after,
          limit,
          token: ofToken,
          nowMs: now(),
          ...filter,
        })
      : await findOwned(store.db, {
          accountId,
          after,
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
      next: next ? `${next.createdAtMs}-${Buffer.from(next.address).toString("hex")}` : null,
    };
  });
}

const nothingSeen: Seen = {
  state: "unfunded",
  block: null,
  transactionHash: null,
  settledAt: null,
};

const shownSeen = (seen: Seen, expirationTimestamp: number, nowMs: number) => ({
  ...seen,
  state: stateNow(seen.state, expirationTimestamp, nowMs),
  settledAt: toIsoOrNull(seen.settledAt),
});

type Listed = Omit<AddressQuery, "order" | "cursor"> & { after: OwnedPlace | undefined };

async function findListed(store: Parts["store"], { after, ...query }: Listed) {
  const cursor = after && { at: after.createdAtMs, address: Buffer.from(after.address) };
  const { items, next } = await listAddresses(store.db, { ...query, cursor, order: "newest" });
  const found = await Promise.all(
    items.map(async ({ address, createdAt }) => {
      const terms = await store.findTerms(address);
      if (!terms) throw new CorruptError("an address of the account has no record");
      return { address, createdAtMs: createdAt, terms };
    }),
  );
  return { found, next: next && { createdAtMs: next.at, address: next.address } };
}

function parseCursor(cursor: string): { createdAtMs: number; address: Buffer } {
  const [, createdAt, digits] = /^([0-9]{1,15})-([0-9a-f]{40})$/.exec(cursor) ?? [];
  if (createdAt === undefined || digits === undefined) {
    throw invalid("cursor", "expected the next of the page before");
  }
  return { createdAtMs: Number(createdAt), address: Buffer.from(digits, "hex") };
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
