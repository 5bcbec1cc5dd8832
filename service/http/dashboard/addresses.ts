// GET /dashboard/api/addresses: the list as the API has it, by how addresses begin too.

import { InvalidError } from "executable-address";
import type { AddressPage } from "executable-address/client";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { foundText } from "../errors.ts";
import { parseInput } from "../input/schema.ts";
import { listInput, showPage } from "../lists/addresses.ts";
import type { Parts } from "../parts.ts";
import { accountIdOf } from "./session.ts";

/** `address` is one, or how some begin, in any letter case. */
const pageInput = listInput.extend({
  address: z.string().max(100).transform(addressRange).optional(),
});

export function mountAddresses(app: FastifyInstance, parts: Parts): void {
  app.get("/addresses", async (request): Promise<AddressPage> => {
    const { address: addresses, ...asked } = parseInput(pageInput, request.query);
    return showPage(parts, accountIdOf(request), { ...asked, addresses }, request);
  });
}

/** The lowest and the highest address that begin with `text`. */
function addressRange(text: string): { from: Buffer; to: Buffer } {
  const digits = /^0x([0-9a-f]{0,40})$/i.exec(text)?.[1];
  if (digits === undefined) {
    const message = `expected 0x and up to 40 hex digits, found ${foundText(text)}`;
    throw new InvalidError([{ path: ["address"], code: "malformed", message }]);
  }
  return {
    from: Buffer.from(digits.padEnd(40, "0"), "hex"),
    to: Buffer.from(digits.padEnd(40, "f"), "hex"),
  };
}
