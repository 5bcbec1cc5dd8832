// Computes the two possible codes of a vault and their hashes. Each code contains the last 16 bytes
// of the factory's address between two constant parts (contracts/src/Vault.sol).

import { concatBytes } from "@noble/hashes/utils.js";
import { fromHex } from "../abi/hex.ts";
import { stubHead, stubTail } from "../deployment.ts";
import type { Hex } from "../intent/intent.ts";
import type { Keccak } from "../keccak/keccak.ts";

/** Returns both codes. The code `closed` is the code `executed` with a zero byte at the end. */
export function vaultCodes(factory: Hex): { executed: Uint8Array; closed: Uint8Array } {
  const executed = concatBytes(fromHex(stubHead), fromHex(factory).slice(4), fromHex(stubTail));
  return { executed, closed: concatBytes(executed, Uint8Array.of(0)) };
}

/**
 * Returns the hashes of both codes (32 bytes each), which are the same on every chain. `none` is
 * the code hash of an account without code.
 */
export function vaultCodeHashes(factory: Hex, keccak: Keccak) {
  const { executed, closed } = vaultCodes(factory);
  return {
    executed: keccak(executed),
    closed: keccak(closed),
    none: keccak(new Uint8Array()),
  };
}
