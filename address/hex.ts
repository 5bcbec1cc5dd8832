/** Bytes as text: `0x` and two digits for each. */
export type Hex = `0x${string}`;

/** A number as JSON-RPC spells it: hexadecimal, without leading zeros. */
export const toQuantity = (value: bigint | number): Hex => `0x${value.toString(16)}`;

/** The number of a quantity of JSON-RPC, in digits of either case; undefined for anything else. */
export const fromQuantity = (value: unknown): bigint | undefined =>
  typeof value === "string" && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined;

/** `value` in lower case if it is `0x` and two digits for each byte, else undefined. */
export const lowerHex = (value: unknown): Hex | undefined =>
  typeof value === "string" && value.length % 2 === 0 && /^0x[0-9a-f]*$/i.test(value)
    ? (value.toLowerCase() as Hex)
    : undefined;

/** Whether it spells 32 bytes, in digits of either case. */
export const isHash = (value: unknown): value is Hex =>
  typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);

/** Whether two texts are the same hex, each in digits of either case. */
export const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
