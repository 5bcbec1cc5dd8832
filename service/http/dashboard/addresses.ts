// GET /dashboard/api/addresses: the list as the API has it, newest first, with each intent.

import { InvalidError } from "executable-address";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { decodeRecord } from "../../store/record.ts";
import { CorruptError } from "../../store/store.ts";
import { parseInput } from "../input/schema.ts";
import { findPage, itemJson, listInput } from "../lists/addresses.ts";
import type { Parts } from "../parts.ts";
import type { OwnedAddress, Page } from "./answers.ts";
import { accountIdOf } from "./session.ts";

/** `address` is one, or how some begin, in any letter case. */
const pageInput = listInput.extend({
  address: z.string().max(100).transform(addressRange).optional(),
});

export function mountAddresses(app: FastifyInstance, parts: Parts): void {
  app.get("/addresses", async (request): Promise<Page<OwnedAddress>> => {
    const { address: addresses, ...asked } = parseInput(pageInput, request.query);
    const accountId = accountIdOf(request);
    const { items, next } = await findPage(parts, accountId, { ...asked, addresses }, request);
    const withIntents = items.map(async (item) => ({
      ...itemJson(item, parts),
      intent: await intentOf(item.address),
    }));
    return { items: await Promise.all(withIntents), next };
  });

  async function intentOf(address: Buffer) {
    const terms = await parts.store.findTerms(address);
    if (!terms) throw new CorruptError("an address of the account has no record");
    return decodeRecord(address, terms, parts);
  }
}

/** The lowest and the highest address that begin with `text`. */
function addressRange(text: string): { from: Buffer; to: Buffer } {
  const digits = /^0x([0-9a-f]{0,40})$/i.exec(text)?.[1];
  if (digits === undefined) {
    const message = "expected 0x and up to 40 hex digits";
    throw new InvalidError([{ path: ["address"], code: "malformed", message }]);
  }
  return {
    from: Buffer.from(digits.padEnd(40, "0"), "hex"),
    to: Buffer.from(digits.padEnd(40, "f"), "hex"),
  };
}
