// Searches for salts that give the factory an address with four leading zero bytes. The salts are
// for the deterministic deployer. Every search from 0 finds the same salt, because it tries all
// salts in ascending order.

import { createKeccak } from "hash-wasm";
import { concat, type Hex, hexToBytes, keccak256, numberToHex } from "viem";
import { deterministicDeployer } from "../deployer.ts";

/** The salt as the deployer expects it: 32 bytes. */
export const saltOf = (count: number): Hex => numberToHex(count, { size: 32 });

/**
 * Returns a function that derives a salt from each count in a range, and tries the salt. The range
 * is from `from` up to, but not including, `to`. Counts are at most 2^53. The function returns the
 * lowest count whose salt gives an address with four leading zero bytes.
 */
export async function newSearch(
  creationCode: Hex,
): Promise<(from: number, to: number) => number | undefined> {
  const keccak = await createKeccak(256);
  // EIP-1014: 0xff, deployer, salt, hash of the creation code.
  const preimage = hexToBytes(
    concat(["0xff", deterministicDeployer.address, saltOf(0), keccak256(creationCode)]),
  );
  const view = new DataView(preimage.buffer);
  const countAt = 1 + 20 + 24;
  return (from, to) => {
    for (let count = from; count < to; count++) {
      view.setUint32(countAt, Math.floor(count / 2 ** 32));
      view.setUint32(countAt + 4, count % 2 ** 32);
      const hash = keccak.init().update(preimage).digest("binary");
      // The address begins at byte 12.
      if (hash[12] === 0 && hash[13] === 0 && hash[14] === 0 && hash[15] === 0) return count;
    }
    return undefined;
  };
}
