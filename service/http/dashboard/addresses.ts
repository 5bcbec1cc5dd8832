// The dashboard's routes for addresses. The list of addresses is the API's list with one more
// filter, by address prefix. Another route returns the statuses of one page of the list. The form
// for new addresses has two routes, which use the API's functions. One route checks an intent, and
// the other creates an address.

import { InvalidError } from "executable-address";
import type { AddressPage } from "executable-address/client";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { limitLogs, messageKind } from "../../flow/log-limit.ts";
import { requireAccountId } from "../authorize/authorize.ts";
import type { CheckIntent } from "../create/check.ts";
import { type CreateRecord, parseCreateQuery } from "../create/create.ts";
import { foundText, jsonType, toRefusal } from "../errors.ts";
import { parseInput } from "../input.ts";
import { listInput, type ShowPage } from "../lists/addresses.ts";
import type { Parts } from "../parts.ts";
import type { Statuses } from "../status/status.ts";
import type { FoundStatus } from "./answers.ts";

/** `address` is an address or the beginning of an address, in uppercase or lowercase. */
const pageInput = listInput.extend({
  address: z.string().max(100).transform(addressRange).optional(),
});

export type Intents = { check: CheckIntent; create: CreateRecord };

export function mountAddresses(
  app: FastifyInstance,
  { check, create }: Intents,
  showPage: ShowPage,
): void {
  app.get("/addresses", async (request): Promise<AddressPage> => {
    const { address: addresses, ...query } = parseInput(pageInput, request.query);
    return showPage(requireAccountId(request), { ...query, addresses }, request);
  });

  app.post("/check", async (request, reply) => {
    reply.header("content-type", jsonType);
    return check(requireAccountId(request), request.body);
  });

  app.post("/addresses", async (request, reply) => {
    const settings = { isClientId: false, isBound: false, mayName: true };
    const by = { accountId: requireAccountId(request), ...settings };
    const record = await create(request.body, { ...by, ...parseCreateQuery(request) });
    reply.header("content-type", jsonType);
    return record;
  });
}

/** Returns the lowest and the highest address that begin with `text`. */
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

const statusesMax = 20;
const statusesInput = z.strictObject({
  addresses: z
    .string()
    .max(statusesMax * 43)
    .transform((text) => [...new Set(text.split(","))])
    .pipe(z.array(z.string()).min(1).max(statusesMax)),
});

/**
 * GET /statuses?addresses=0x…,0x…: the current statuses of up to {@link statusesMax}
 * addresses. The statuses are read simultaneously, so addresses on the same chain share RPC calls.
 * If a status cannot be read, the response contains an error code instead of the status.
 */
export function mountStatuses(
  app: FastifyInstance,
  { log }: Pick<Parts, "log">,
  statuses: Statuses,
): void {
  const logLimited = limitLogs();
  app.get("/statuses", async (request) => {
    const { addresses } = parseInput(statusesInput, request.query);
    const items = addresses.map(async (address): Promise<FoundStatus> => {
      try {
        return { address, status: await statuses.read(await statuses.readSubject(address)) };
      } catch (error) {
        const { code } = toRefusal(error);
        if (code === "internal_error") {
          logLimited(messageKind(String(error)), (leftOut) =>
            log.error(
              { err: error, address, leftOut },
              "the status of an address could not be read",
            ),
          );
        }
        return { address, error: code };
      }
    });
    return { items: await Promise.all(items) };
  });
}
