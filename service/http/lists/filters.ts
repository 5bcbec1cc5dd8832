// What the lists of addresses have in common, the API's and the dashboard's: states to filter by,
// and the cursor that names the last row of a page.

import { InvalidError } from "executable-address";
import { addressStates } from "executable-address/status";
import { z } from "zod";
import type { Cursor } from "../../events/list-addresses.ts";

export const stateInput = z.enum(addressStates);

/** As {@link parseCursor} takes it. */
export const formatCursor = ({ atMs, address }: Cursor): string =>
  `${atMs}-${address.toString("hex")}`;

/** @throws {InvalidError} */
export function parseCursor(text: string): Cursor {
  const [, at, digits] = /^([0-9]{1,15})-([0-9a-f]{40})$/.exec(text) ?? [];
  if (at !== undefined && digits !== undefined) {
    return { atMs: Number(at), address: Buffer.from(digits, "hex") };
  }
  const message = "expected the next of an earlier page";
  throw new InvalidError([{ path: ["cursor"], code: "malformed", message }]);
}
