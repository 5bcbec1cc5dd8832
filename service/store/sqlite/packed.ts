// Addresses and terms of many records in one piece of memory: one piece crosses between threads in
// the time that a few small ones take.

export type Packed = {
  /** Bytes of each row's terms. */
  lengths: Uint32Array;
  /** Each row in turn has 20 bytes of address, then its terms. The buffer is transferred. */
  bytes: ArrayBuffer;
};

type PackedRow = { address: Uint8Array; terms: Uint8Array };

export function pack(rows: readonly PackedRow[]): Packed {
  const lengths = Uint32Array.from(rows, ({ terms }) => terms.length);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + 20 + length, 0));
  let at = 0;
  for (const { address, terms } of rows) {
    bytes.set(address, at);
    bytes.set(terms, at + 20);
    at += 20 + terms.length;
  }
  return { lengths, bytes: bytes.buffer };
}

/** Views of the one piece. */
export function unpack({ lengths, bytes }: Packed): { address: Buffer; terms: Buffer }[] {
  let at = 0;
  return Array.from(lengths, (length) => {
    const address = Buffer.from(bytes, at, 20);
    const terms = Buffer.from(bytes, at + 20, length);
    at += 20 + length;
    return { address, terms };
  });
}
