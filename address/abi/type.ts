// Parameter types, with the sizes that determine the ABI layout.
// Source: https://docs.soliditylang.org/en/latest/abi-spec.html

/**
 * - `dynamic`: whether the ABI encodes the values after the head. The head then contains only an
 *   offset.
 * - `headBytes`: the number of bytes that a value occupies in the head of its list or tuple.
 * - `depth`: the depth of nested lists and tuples, or 0 for other types.
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

/** `length` is undefined if the list can have any length. */
type ListType = {
  readonly kind: "list";
  readonly element: AbiType;
  readonly length: number | undefined;
};
type TupleType = { readonly kind: "tuple"; readonly components: readonly AbiType[] };

/**
 * The maximum length of an intent's encoded terms in bytes. The parser refuses a type with a longer
 * head, because its values do not fit.
 */
export const termsBytesMax = 24_576;

/** The maximum depth of nested arrays and tuples. */
export const typeDepthMax = 16;

/**
 * Every type without components, by its canonical name. The map omits the type `function`, because
 * people could not read its values. The map also omits `fixed` and `ufixed`, because no compiler
 * supports these types.
 */
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

/** Returns the tuple of one or more `components`. */
export function tupleType(components: readonly AbiType[]): AbiType {
  const dynamic = components.some((component) => component.dynamic);
  const headBytes = dynamic ? 32 : bodyBytes(components);
  const name = `(${components.map((component) => component.name).join(",")})`;
  const depth = 1 + Math.max(...components.map((component) => component.depth));
  return { kind: "tuple", components, name, dynamic, headBytes, depth };
}

/** Returns `element[length]`, or `element[]` if `length` is undefined. `length` is at least 1. */
export function listType(element: AbiType, length: number | undefined): AbiType {
  const dynamic = length === undefined || element.dynamic;
  const headBytes = dynamic ? 32 : length * element.headBytes;
  const depth = 1 + element.depth;
  const name = `${element.name}[${length ?? ""}]`;
  return { kind: "list", element, length, name, dynamic, headBytes, depth };
}

/** Returns the total size of the heads of `components`. */
export function bodyBytes(components: readonly AbiType[]): number {
  let total = 0;
  for (const component of components) total += component.headBytes;
  return total;
}
