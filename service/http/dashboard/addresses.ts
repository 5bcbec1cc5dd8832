// The account's addresses: the list of the API, which can also filter by how an address begins; and
// the form for a new address, which checks and creates as the API does for the account's key.

import { InvalidError } from "executable-address";
import type { AddressPage } from "executable-address/client";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { CheckIntent } from "../create/check.ts";
import type { CreateRecord } from "../create/create.ts";
import { parseCreateQuery } from "../create/create.ts";
import { foundText } from "../errors.ts";
import { parseInput } from "../input.ts";
import { listInput, showPage } from "../lists/addresses.ts";
import type { Parts } from "../parts.ts";
import { jsonType } from "../routes.ts";
import { accountIdOf } from "./session.ts";

/** `address` is one, or how some begin, in any letter case. */
const pageInput = listInput.extend({
  address: z.string().max(100).transform(addressRange).optional(),
});

export type Intents = { check: CheckIntent; create: CreateRecord };

export function mountAddresses(
  app: FastifyInstance,
  parts: Parts,
  { check, create }: Intents,
): void {
  app.get("/addresses", async (request): Promise<AddressPage> => {
    const { address: addresses, ...asked } = parseInput(pageInput, request.query);
    return showPage(parts, accountIdOf(request), { ...asked, addresses }, request);
  });

  app.post("/check", async (request, reply) => {
    reply.header("content-type", jsonType);
    return check(accountIdOf(request), request.body);
  });

  app.post("/addresses", async (request, reply) => {
    const settings = { isClientId: false, isBound: false, mayName: true };
    const by = { accountId: accountIdOf(request), ...settings };
    const record = await create(request.body, { ...by, ...parseCreateQuery(request) });
    reply.header("content-type", jsonType);
    return record;
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
