// GET /addresses and GET /address/{address}/mine: spec/service.md, "Lists". Lists the account's own
// addresses with the last state that the service has observed. The dashboard uses the same list.

import { formatAddress, InvalidError, parseAddress } from "executable-address";
import type { AddressPage, ListedAddress as Shown } from "executable-address/client";
import { normalizeReference } from "executable-address/reference";
import { addressStates } from "executable-address/status";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import {
  type Cursor,
  findListed,
  type ListedAddress,
  listAddresses,
} from "../../events/list-addresses.ts";
import { timeInput, toIso, toIsoOrNull } from "../../flow/days.ts";
import { recordPath } from "../../store/record.ts";
import { apiKeyOnly } from "../authorize/authorize.ts";
import { untrimmedMax } from "../create/reference.ts";
import { foundText, Refusal } from "../errors.ts";
import { addressDigits, addressOf, integerInput, parseQuery } from "../input.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { SearchInTurn } from "./turn.ts";

const referenceInput = z.string().max(untrimmedMax).transform(normalizeReference);

export const listInput = z.strictObject({
  order: z
    .enum(["newest", "oldest"])
    .default("newest")
    .describe(
      "The sort order. The sort key is the time of creation, or the time of settlement if the " +
        "query has `settledFrom` or `settledUntil`.",
    ),
  limit: integerInput(1, 100).default(20).describe("The number of items per page."),
  cursor: z
    .string()
    .max(100)
    .transform(parseCursor)
    .optional()
    .describe("The `next` value of an earlier page of the same query."),
  state: z
    .enum(addressStates)
    .optional()
    .describe(
      "The state that the service observed last. An address that never received money is " +
        "`unfunded`. When the server's clock passes its expiration time, it becomes `expired`.",
    ),
  token: z.string().max(100).transform(parseToken).optional().describe("The token of the intent."),
  chainId: integerInput(1, Number.MAX_SAFE_INTEGER).optional().describe("The chain of the intent."),
  reference: referenceInput.optional().describe("The exact reference, as set with an API key."),
  claimedReference: referenceInput
    .optional()
    .describe("The exact reference, as claimed with a client ID."),
  createdBy: z
    .enum(["api_key", "client_id"])
    .optional()
    .describe(
      "The credential that set the reference, or that created the address if it has no " +
        "reference.",
    ),
  referenceContains: referenceInput
    .optional()
    .describe(
      "Returns only addresses whose `reference` or `claimedReference` contains this text, in any " +
        "letter case.",
    ),
  createdFrom: timeInput.optional().describe("The earliest time of creation, inclusive."),
  createdUntil: timeInput.optional().describe("The latest time of creation, exclusive."),
  settledFrom: timeInput.optional().describe("The earliest time of settlement, inclusive."),
  settledUntil: timeInput.optional().describe("The latest time of settlement, exclusive."),
});

type PageQuery = z.output<typeof listInput> & {
  addresses?: { from: Buffer; to: Buffer } | undefined;
};

/** Returns one page of the account's addresses. */
export type ShowPage = (
  accountId: string,
  query: PageQuery,
  request: FastifyRequest,
) => Promise<AddressPage>;

export const openAddressPages =
  (parts: Parts, searchInTurn: SearchInTurn): ShowPage =>
  async (accountId, query, request) => {
    const { createdFrom, createdUntil, settledFrom, settledUntil, ...filters } = query;
    const times = {
      ...{ createdFromMs: createdFrom, createdUntilMs: createdUntil },
      ...{ settledFromMs: settledFrom, settledUntilMs: settledUntil },
    };
    const { items, next } = await searchInTurn(request, accountId, (turn) =>
      listAddresses(parts.store.db, { ...filters, ...times, accountId, nowMs: parts.now(), turn }),
    );
    const shown = items.map((item) => itemJson(item, parts));
    return { items: shown, next: next ? formatCursor(next) : null };
  };

export function addresses(parts: Parts, showPage: ShowPage): Route {
  return {
    before: [apiKeyOnly(parts)],
    async handler(request) {
      const query = parseQuery(listInput, request);
      return showPage(request.caller!.accountId, query, request);
    },
  };
}

/** Returns the route that shows one address as an item of the list. */
export function mine(parts: Parts): Route {
  return {
    before: [apiKeyOnly(parts)],
    async handler(request) {
      const digits = addressDigits(addressOf(request));
      const address = Buffer.from(digits, "hex");
      const { accountId } = request.caller!;
      const item = await findListed(parts.store.db, { accountId, address, nowMs: parts.now() });
      if (!item)
        throw new Refusal("not_found", `the account did not create the address 0x${digits}`);
      return itemJson(item, parts);
    },
  };
}

function itemJson(item: ListedAddress, { keccak, publicUrl }: Parts): Shown {
  const address = formatAddress(item.address, keccak);
  return {
    address,
    recordUrl: `${publicUrl}${recordPath(address)}`,
    reference: item.reference,
    claimedReference: item.claimedReference,
    createdBy: item.createdBy,
    createdAt: toIso(item.createdAtMs),
    chainId: item.chainId,
    token: formatAddress(item.token, keccak),
    amount: item.amount,
    requestedAmount: item.requestedAmount,
    expirationTimestamp: item.expirationSeconds,
    state: item.state,
    block: item.block,
    transactionHash: item.transactionHash,
    settledAt: toIsoOrNull(item.settledAtMs),
  };
}

function parseToken(text: string) {
  return Buffer.from(parseAddress(text, { path: ["token"] }).slice(2), "hex");
}

/**
 * Formats a cursor for the page that begins after the given row. {@link parseCursor} is the
 * inverse.
 */
const formatCursor = ({ atMs, address }: Cursor) => `${atMs}-${address.toString("hex")}`;

/** @throws {InvalidError} */
function parseCursor(text: string): Cursor {
  const [, at, digits] = /^([0-9]{1,15})-([0-9a-f]{40})$/.exec(text) ?? [];
  if (at !== undefined && digits !== undefined) {
    return { atMs: Number(at), address: Buffer.from(digits, "hex") };
  }
  const message = `expected the value of \`next\` from an earlier page, found ${foundText(text)}`;
  throw new InvalidError([{ path: ["cursor"], code: "malformed", message }]);
}
