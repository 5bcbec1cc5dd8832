// The layout of terms, which is `abi.encode(Intent)` (spec/terms.md §2).

/**
 * The offset of each field's word in the terms. Before the first field, `abi.encode` writes the
 * word 0x20. An address or a number is right-aligned in its word of 32 bytes.
 */
export const termsOffsets = {
  token: 32,
  amount: 64,
  calls: 96,
  expirationTimestamp: 128,
  recovery: 160,
  salt: 192,
  chainId: 224,
  end: 256,
} as const;

/** Offsets from the beginning of a call. The strings and the bytes follow these four words. */
export const callOffsets = { target: 0, signature: 32, names: 64, args: 96, end: 128 } as const;
