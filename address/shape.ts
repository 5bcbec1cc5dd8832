// The language in which every answer of the service is described, once. From a shape follow the
// TypeScript type (`TypeOf`), the client's check (`fits`) and the service's OpenAPI document, which
// takes each description from the doc comment above the field: comments cost a page no bytes.

import type { Hex } from "./abi/hex.ts";
import type { Path } from "./errors.ts";

/**
 * A JSON value of type `T`. The names are JSON Schema's, so that the document is a copy. The
 * document also promises what the tags of a doc comment say (`@pattern`, `@format`, `@minLength`,
 * `@maxLength`, `@minItems`, `@maxItems`, `@maximum` and `@values`, which names a list). A client
 * does not check those, so that they can grow.
 */
export type Shape<T = unknown> = {
  readonly type?: "string" | "integer" | "boolean" | "array" | "object" | "null";
  readonly pattern?: RegExp;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Shape;
  readonly properties?: Fields;
  readonly anyOf?: readonly Shape[];
  /** Only for the compiler: no shape has it. */
  readonly like?: T;
};

type Fields = Readonly<Record<string, Shape>>;

/** The type of the values that a shape describes. */
export type TypeOf<S> = S extends Shape<infer T> ? T : never;

/** Every field is present. Its own name keeps the doc comments of the fields for editors. */
export type ObjectShape<F extends Fields> = Shape<{
  -readonly [Name in keyof F]: TypeOf<F[Name]>;
}> & {
  readonly properties: F;
};
export type ListShape<S extends Shape> = Shape<TypeOf<S>[]>;
export type NullableShape<S extends Shape> = Shape<TypeOf<S> | null>;

export type ImmutableShape<S extends Shape> = Shape<Immutable<TypeOf<S>>>;

/** `T` with every field and list read-only. */
type Immutable<T> = T extends object ? { readonly [Name in keyof T]: Immutable<T[Name]> } : T;

export const object = <const F extends Fields>(properties: F): ObjectShape<F> => ({
  type: "object",
  properties,
});
export const list = <S extends Shape>(items: S): ListShape<S> => ({ type: "array", items });
export const either = <S extends readonly Shape[]>(...anyOf: S): Shape<TypeOf<S[number]>> => ({
  anyOf,
});
export const orNull = <S extends Shape>(shape: S): NullableShape<S> => either(shape, nothing);

/** The same shape, of values that a program does not change. */
export const immutable = <S extends Shape>(shape: S): ImmutableShape<S> =>
  shape as Shape<Immutable<TypeOf<S>>>;

/**
 * A value that a client proves, so that its shape needs no check. `@ref` names it for the
 * document.
 */
export const proved = <T>(): Shape<T> => ({});

const nothing: Shape<null> = { type: "null" };
export const text: Shape<string> = { type: "string" };
export const flag: Shape<boolean> = { type: "boolean" };
export const matching = <T extends string = string>(pattern: RegExp): Shape<T> => ({
  type: "string",
  pattern,
});
export const among = <const T extends string>(...values: readonly T[]): Shape<T> => ({
  type: "string",
  enum: values,
});
export const integer = (minimum: number, maximum = Number.MAX_SAFE_INTEGER): Shape<number> => ({
  type: "integer",
  minimum,
  maximum,
});

/** 20 bytes as `0x` and 40 hex digits, in EIP-55 checksum case. */
export const address = matching<Hex>(/^0x[0-9a-fA-F]{40}$/);
/** 32 bytes as `0x` and 64 lowercase hex digits. */
export const hash = matching<Hex>(/^0x[0-9a-f]{64}$/);
/** A decimal integer below 2^256. */
export const uint256 = matching(/^(0|[1-9][0-9]{0,77})$/);
/**
 * An ISO 8601 timestamp with its offset.
 *
 * @format date-time
 */
export const time = matching(/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/);
export const count = integer(0);
export const chainId = integer(1);
/** Field names and array indices, from the root of what the path refers to. */
export const path: Shape<Path> = list(either(matching(/^[A-Za-z]{1,64}$/), count));

/**
 * Returns whether `value` has the shape. Unknown fields are accepted, because changes to the API
 * only add.
 */
export function fits<S extends Shape>(shape: S, value: unknown): value is TypeOf<S> {
  const { type, anyOf, items, properties, pattern, minimum, maximum } = shape;
  if (anyOf) return anyOf.some((each) => fits(each, value));
  if (items) return Array.isArray(value) && value.every((each) => fits(items, each));
  if (properties)
    return (
      typeof value === "object" &&
      value !== null &&
      Object.entries(properties).every(
        ([name, field]) =>
          Object.hasOwn(value, name) && fits(field, (value as Record<string, unknown>)[name]),
      )
    );
  if (type === "null") return value === null;
  if (type === "integer")
    return (
      Number.isSafeInteger(value) && minimum! <= (value as number) && maximum! >= (value as number)
    );
  return (
    !type ||
    (typeof value === type &&
      (pattern?.test(value as string) ?? shape.enum?.includes(value as string) ?? true))
  );
}
