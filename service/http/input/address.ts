// Reads an address from a path or a text of a request.

import { isAddress } from "executable-address";
import type { FastifyRequest } from "fastify";
import { foundText, Refusal } from "../errors.ts";

/** The text of the path at `:address`. */
export const addressOf = ({ params }: FastifyRequest) => (params as { address?: string }).address;

/** The 40 digits in lower case: any letter case names the same address. */
export function addressDigits(text: string | undefined): string {
  if (isAddress(text)) return text.slice(2).toLowerCase();
  const path = ["address"];
  const message = `expected an address: 0x and 40 hex digits, found ${foundText(text)}`;
  throw new Refusal("invalid_request", message, {
    issues: [{ path, code: "malformed_address", message }],
  });
}
