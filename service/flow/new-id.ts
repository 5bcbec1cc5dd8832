// Generates IDs and credentials in the formats that the library defines.

import { randomBytes } from "node:crypto";

const idPattern = /^\^(\w+)\[0-9a-f\]\{(\d+)\}\$$/;

/**
 * Generates a random text that matches `pattern`, but without its last `omitted` digits.
 *
 * @param pattern a prefix and lowercase hex digits, such as `/^evt_[0-9a-f]{32}$/`
 */
export function newId(pattern: RegExp, omitted = 0): string {
  const [, prefix, digits] = idPattern.exec(pattern.source)!;
  return prefix + randomBytes((Number(digits) - omitted) / 2).toString("hex");
}
