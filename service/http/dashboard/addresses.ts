// GET /dashboard/api/addresses: what this account created, newest first.

import { decodeTerms, formatAddress, InvalidError } from "executable-address";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import { z } from "zod";
import type { Parts } from "../parts.ts";
import { parseInput } from "./input.ts";
import { accountIdOf, toIso } from "./session.ts";

/** `address` may be the beginning of one; any letter case. */
const listInput = z.strictObject({
  cursor: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(20),
  address: z.string().max(100).optional(),
  token: z.string().max(100).optional(),
});

/** terms = 0x20 ‖ token ‖ …, each in 32 bytes: the token's 20 bytes begin at the 45th. */
const tokenInTerms = sql<Uint8Array>`substr(terms, 45, 20)`;

export function mountAddresses(
  app: FastifyInstance,
  { store, keccak }: Pick<Parts, "store" | "keccak">,
): void {
  app.get("/addresses", async (request) => {
    const { cursor, limit, address, token } = parseInput(listInput, request.query);
    let query = store.db
      .selectFrom("owners")
      .innerJoin("records", "records.address", "owners.address")
      .select(["owners.address", "owners.created_at", "records.terms"])
      .where("owners.account_id", "=", accountIdOf(request));
    if (cursor !== undefined) {
      const { createdAtMs, address: last } = parseCursor(cursor);
      query = query.where((eb) =>
        eb.or([
          eb("owners.created_at", "<", createdAtMs),
          eb.and([eb("owners.created_at", "=", createdAtMs), eb("owners.address", "<", last)]),
        ]),
      );
    }
    if (address) {
      const { from, to } = addressRange(address);
      query = query.where("owners.address", ">=", from).where("owners.address", "<=", to);
    }
    if (token) query = query.where(tokenInTerms, "=", wholeAddress(token));
    const rows = await query
      .orderBy("owners.created_at", "desc")
      .orderBy("owners.address", "desc")
      .limit(limit + 1)
      .execute();

    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      items: page.map((row) => ({
        address: formatAddress(row.address, keccak),
        createdAt: toIso(row.created_at),
        intent: decodeTerms(row.terms, { keccak }),
      })),
      next: last ? `${last.created_at}-${Buffer.from(last.address).toString("hex")}` : null,
    };
  });
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
