// GET /dashboard/api/addresses: what this account created, newest first. A search may answer fewer
// than there are, none included, and where to go on.

import { decodeTerms, formatAddress, InvalidError } from "executable-address";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { findOwned } from "../../store/owned.ts";
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

export function mountAddresses(
  app: FastifyInstance,
  { store, keccak }: Pick<Parts, "store" | "keccak">,
): void {
  app.get("/addresses", async (request) => {
    const { cursor, limit, address, token } = parseInput(listInput, request.query);
    const { found, next } = await findOwned(store.db, {
      accountId: accountIdOf(request),
      after: cursor === undefined ? undefined : parseCursor(cursor),
      addresses: address ? addressRange(address) : undefined,
      token: token ? wholeAddress(token) : undefined,
      limit,
    });
    return {
      items: found.map((row) => ({
        address: formatAddress(row.address, keccak),
        createdAt: toIso(row.createdAtMs),
        intent: decodeTerms(row.terms, { keccak }),
      })),
      next: next ? `${next.createdAtMs}-${Buffer.from(next.address).toString("hex")}` : null,
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
