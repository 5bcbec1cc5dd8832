// The types a parameter can have, with what the ABI's layout needs to know of each.
// Source: https://docs.soliditylang.org/en/latest/abi-spec.html

import type { Hex } from "../hex.ts";

/**
 * `dynamic`: lies in the tail, behind an offset. `headBytes`: its part of its parent's head.
 * `depth`: how many lists and tuples lie within each other in it, 0 if it is neither.
 */
export type AbiType = (
  | { readonly kind: "uint" | "int"; readonly bits: number }
  | { readonly kind: "fixedBytes"; readonly size: number }
  | { readonly kind: "address" | "bool" | "bytes" | "string" }
  | ListType
  | TupleType
) & {
  readonly name: string;
  readonly dynamic: boolean;
  readonly headBytes: number;
  readonly depth: number;
};

/** `length` undefined: as many as there are. */
type ListType = {
  readonly kind: "list";
  readonly element: AbiType;
  readonly length: number | undefined;
};
type TupleType = { readonly kind: "tuple"; readonly components: readonly AbiType[] };

/** A function string taken apart. Everything in it is ASCII. */
export type AbiFunction = {
  /** The spelling of the intent: `approve(address spender, uint256 amount)`. */
  readonly text: string;
  /** `approve(address,uint256)` */
  readonly signature: string;
  /** `spender,amount`; tuples as `(to,amount)payments`. */
  readonly names: string;
  readonly signatureBytes: Uint8Array;
  readonly namesBytes: Uint8Array;
  /** First 4 bytes of keccak-256 of the signature, lower case. */
  readonly selector: Hex;
  readonly parameters: readonly AbiType[];
  /** The heads of all parameters together. */
  readonly headBytes: number;
};

/** Terms are at most this long, so a type whose head alone is longer has no value that fits. */
export const termsBytesMax = 24_576;

/** How many arrays and tuples may lie within each other. */
export const typeDepthMax = 16;

/** Every type without parts, by its canonical name. `function`, `fixed` and `ufixed` are not among
 * them: the first has no spelling a reader could check, the others no compiler support. */
export const elementaryTypes: ReadonlyMap<string, AbiType> = new Map(
  [
    ...widths(8, 256, 8).flatMap((bits) => [
      { kind: "uint" as const, bits, name: `uint${bits}` },
      { kind: "int" as const, bits, name: `int${bits}` },
    ]),
    ...widths(1, 32, 1).map((size) => ({
      kind: "fixedBytes" as const,
      size,
      name: `bytes${size}`,
    })),
    ...(["address", "bool", "bytes", "string"] as const).map((kind) => ({ kind, name: kind })),
  ].map((type) => {
    const dynamic = type.kind === "bytes" || type.kind === "string";
    return [type.name, { ...type, dynamic, headBytes: 32, depth: 0 }];
  }),
);

function widths(first: number, last: number, step: number): number[] {
  const all = [];
  for (let width = first; width <= last; width += step) all.push(width);
  return all;
}

/** A tuple of one or more components. */
export function tupleType(components: readonly AbiType[]): AbiType {
  const dynamic = components.some((component) => component.dynamic);
  const headBytes = dynamic ? 32 : bodyBytes(components);
  const name = `(${components.map((component) => component.name).join(",")})`;
  const depth = 1 + Math.max(...components.map((component) => component.depth));
  return { kind: "tuple", components, name, dynamic, headBytes, depth };
}

/** `element[length]`, or `element[]` for an undefined length. `length` is 1 or more. */
export function listType(element: AbiType, length: number | undefined): AbiType {
  const dynamic = length === undefined || element.dynamic;
  const headBytes = dynamic ? 32 : length * element.headBytes;
  const depth = 1 + element.depth;
  const name = `${element.name}[${length ?? ""}]`;
  return { kind: "list", element, length, name, dynamic, headBytes, depth };
}

/** The bytes that the heads of `components` take together. */
export function bodyBytes(components: readonly AbiType[]): number {
  let total = 0;
  for (const component of components) total += component.headBytes;
  return total;
}
