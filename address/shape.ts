// Describes every response of the service in one place. A shape determines the TypeScript type
// (`TypeOf`), the client's check (`fits`), and the OpenAPI schema. The document's descriptions come
// from the fields' doc comments. Comments add no bytes to a page.

import type { Hex } from "./abi/hex.ts";
import { describeLength, type Path } from "./errors.ts";

/**
 * Describes a JSON value of type `T` with the keywords of JSON Schema.
 *
 * Tags in a field's doc comment add limits to the OpenAPI document: `@pattern`, `@format`,
 * `@minLength`, `@maxLength`, `@minItems`, `@maxItems`, and `@maximum`. The value of a maximum is
 * the name of a constant, as in `@maxItems callsMax`. The value of `@pattern` can also be a
 * constant's name. `@values` names the list of known values. The client does not check these
 * limits, so that the service can relax them later.
 */
export type Shape<T = unknown> = {
  readonly type?: "string" | "integer" | "boolean" | "array" | "object" | "null" | "undefined";
  readonly pattern?: RegExp;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Shape;
  readonly properties?: Fields;
  readonly anyOf?: readonly Shape[];
  /** Lets the compiler derive the type `T` from a shape. At run time, no shape has this field. */
  readonly like?: T;
};

type Fields = Readonly<Record<string, Shape>>;

/** The type of the values that a shape describes. */
export type TypeOf<S> = S extends Shape<infer T> ? T : never;

/**
 * An object in which every field is present. This type has a name so that editors show the doc
 * comments of the fields.
 */
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

// The code of a kind, such as a kind of finding or mistake. New codes can be added. It has no doc
// comment, because each constant of this file with a doc comment is in the OpenAPI document.
export const codePattern = /^[a-z0-9_]{1,64}$/;

export const object = <const F extends Fields>(properties: F): ObjectShape<F> => ({
  type: "object",
  properties,
});
export const list = <S extends Shape>(items: S): ListShape<S> => ({ type: "array", items });
export const either = <S extends readonly Shape[]>(...anyOf: S): Shape<TypeOf<S[number]>> => ({
  anyOf,
});
export const orNull = <S extends Shape>(shape: S): NullableShape<S> => either(shape, nothing);

/** Returns the same shape with a read-only type. */
export const immutable = <S extends Shape>(shape: S): ImmutableShape<S> =>
  shape as Shape<Immutable<TypeOf<S>>>;

/**
 * The shape of an object that the client verifies without `fits`. For such an object, `fits` does
 * not check any fields. The tag `@ref` in a field's doc comment names the object's schema in the
 * OpenAPI document.
 */
export const proved = <T>(): Shape<T> => ({ properties: {} });

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

/** 20 bytes as `0x` followed by 40 hex digits, in EIP-55 checksum case. */
export const address = matching<Hex>(/^0x[0-9a-fA-F]{40}$/);
/** 32 bytes as `0x` followed by 64 lowercase hex digits. */
export const hash = matching<Hex>(/^0x[0-9a-f]{64}$/);
/** A decimal integer below 2^256. */
export const uint256 = matching(/^(0|[1-9][0-9]{0,77})$/);
/**
 * An ISO 8601 timestamp with an offset.
 *
 * @format date-time
 */
export const time = matching(/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/);
export const count = integer(0);
export const chainId = integer(1);
/** Field names and array indices, starting at the root of the described object. */
export const path: Shape<Path> = list(either(matching(/^[A-Za-z]{1,64}$/), count));

/** Returns whether `value` has the shape, by the rules of {@link describeMisfit}. */
export const fits = <S extends Shape>(shape: S, value: unknown): value is TypeOf<S> =>
  !describeMisfit(shape, value);

/**
 * Describes the first part of `value` that does not match `shape`, for example `$.block.number:
 * expected integer, found null`. Returns undefined if all of `value` matches `shape`. Unknown
 * fields are accepted, because later versions of the API can add fields. The description contains
 * no text from `value`, because the text can be a secret.
 */
export function describeMisfit(shape: Shape, value: unknown, path = "$"): string | undefined {
  const { type, anyOf, items, properties, pattern, minimum, maximum, enum: names } = shape;
  if (anyOf?.some((each) => fits(each, value))) return undefined;
  if (anyOf) return describeMisfit(anyOf[0]!, value, path);
  if (items ? Array.isArray(value) : properties && typeof value === "object" && value !== null) {
    const parts = value as Readonly<Record<string, unknown>>;
    for (const name of Object.keys(properties ?? parts)) {
      const part = items ?? properties![name]!;
      const found = describeMisfit(part, parts[name], `${path}.${name}`);
      if (found) return found;
    }
    return undefined;
  }
  const isRight =
    type === "integer"
      ? Number.isSafeInteger(value) &&
        minimum! <= (value as number) &&
        maximum! >= (value as number)
      : type === "null"
        ? value === null
        : value !== null &&
          typeof value === type &&
          (pattern?.test(value as string) ?? names?.includes(value as string) ?? true);
  const wanted = pattern ?? names?.join(" or ") ?? type ?? "object";
  return isRight ? undefined : `${path}: expected ${wanted}, found ${describeLength(value)}`;
}
