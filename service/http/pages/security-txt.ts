// GET /.well-known/security.txt (RFC 9116): where to report a weakness of this service. It is
// there where the operator has named a contact.

import { dayMs, toIso } from "../../flow/days.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";

/** The RFC asks for less than a year. The text is made anew each day, so it does not run out. */
const daysValid = 180;

export const securityTxtPath = "/.well-known/security.txt";

export function securityTxt({ publicUrl, now }: Parts, contact: string): Route {
  return {
    handler(_request, reply) {
      const expires = toIso((Math.floor(now() / dayMs) + daysValid) * dayMs);
      reply.header("content-type", "text/plain; charset=utf-8");
      reply.header("cache-control", "public, max-age=86400");
      const canonical = `${publicUrl}${securityTxtPath}`;
      return `Contact: ${contact}\nExpires: ${expires}\nCanonical: ${canonical}\n`;
    },
  };
}
