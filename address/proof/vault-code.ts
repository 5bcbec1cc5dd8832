// The two codes that a factory leaves at a vault, known by their hashes. contracts/src/Vault.sol
// writes them: between two halves stand the last 16 bytes of the factory's address.

import { concatBytes } from "@noble/hashes/utils.js";
import { fromHex } from "../abi/hex.ts";
import { stubHead, stubTail } from "../deployment.ts";
import type { Hex } from "../intent/intent.ts";
import type { Keccak } from "../keccak/keccak.ts";

/** `closed` has a zero byte behind it. */
export function vaultCodes(factory: Hex): { executed: Uint8Array; closed: Uint8Array } {
  const executed = concatBytes(fromHex(stubHead), fromHex(factory).slice(4), fromHex(stubTail));
  return { executed, closed: concatBytes(executed, Uint8Array.of(0)) };
}

/** 32 bytes each, the same on every chain. `none` is of an account without code. */
export function vaultCodeHashes(factory: Hex, keccak: Keccak) {
  const { executed, closed } = vaultCodes(factory);
  return {
    executed: keccak(executed),
    closed: keccak(closed),
    none: keccak(new Uint8Array()),
  };
}
