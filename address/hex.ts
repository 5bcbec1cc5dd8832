/** Bytes as text: `0x` and two digits for each. */
export type Hex = `0x${string}`;

/** A number as JSON-RPC spells it: hexadecimal, without leading zeros. */
export const toQuantity = (value: bigint | number): Hex => `0x${value.toString(16)}`;
