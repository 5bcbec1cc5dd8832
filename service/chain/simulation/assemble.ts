// EVM code from its parts, for the program of meter.ts: whoever reads it should not have to count.

import type { Hex } from "executable-address";

/**
 * A part is opcodes in hex, a number (a PUSH3 of it), a place (`{ at }`, where jumps end or data
 * begins) or a PUSH3 of a place, some bytes further.
 */
export type Part = string | number | { at: string } | { of: string; plus?: number };

/** @throws when a part names a place that is nowhere */
export function assemble(parts: readonly Part[]): Hex {
  const places = new Map<string, number>();
  let bytes = 0;
  for (const part of parts) {
    if (typeof part === "object" && "at" in part) places.set(part.at, bytes);
    else bytes += typeof part === "string" ? part.length / 2 : pushBytes;
  }
  const written = parts.map((part) => {
    if (typeof part === "string") return part;
    if (typeof part === "number") return push(part);
    if ("at" in part) return "";
    const place = places.get(part.of);
    if (place === undefined) throw new Error(`nothing is at ${part.of}`);
    return push(place + (part.plus ?? 0));
  });
  return `0x${written.join("")}`;
}

const pushBytes = 4;
const push = (value: number) => `62${value.toString(16).padStart(6, "0")}`;
