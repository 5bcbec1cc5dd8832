/** Bytes as text: `0x` and two digits for each. */
export type Hex = `0x${string}`;
