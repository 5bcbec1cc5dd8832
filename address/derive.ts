// Derives the address that executes an intent. The formula is in spec/terms.md §3. The vectors in
// spec/vectors.json test both this file and contracts/src/PaymentFactory.sol.

import { parseAddress } from "./abi/checksum.ts";
import { type Bytes, fromHex, type Hex, parseBytes } from "./abi/hex.ts";
import { termsBytesMax } from "./abi/type.ts";
import { factoryAddress, initCodePrefix } from "./deployment.ts";
import { InvalidError } from "./errors.ts";
import { chooseKeccak, type Keccak } from "./keccak/keccak.ts";

const prefix = fromHex(initCodePrefix);

/**
 * Derives the 20 bytes of the address at which `factory` creates the vault for `terms`. Use
 * {@link formatAddress} to convert the bytes to text. EIP-1014 defines the formula:
 *
 *     keccak256(0xff ‖ factory ‖ 0^32 ‖ keccak256(initCodePrefix ‖ terms))[12..32]
 *
 * This function does not check whether `terms` are valid. To check them, use {@link decodeTerms}.
 *
 * @param terms at most 24,576 bytes, as {@link encodeTerms} lays them out
 * @param options.factory in any letter case; default {@link factoryAddress}
 * @throws {InvalidError} `terms_too_long`, `wrong_type`, `malformed_hex`, or a fault of `factory`
 */
export function deriveAddress(
  terms: Bytes,
  options: { readonly factory?: Hex; readonly keccak?: Keccak } = {},
): Uint8Array {
  const keccak = chooseKeccak(options);
  const bytes = parseBytes(terms, ["terms"]);
  if (bytes.length > termsBytesMax) {
    const message = `expected at most ${termsBytesMax} bytes, found ${bytes.length}`;
    throw new InvalidError([{ path: ["terms"], code: "terms_too_long", message }]);
  }
  initCode.set(bytes, prefix.length);
  preimage.set(factoryBytes(options.factory, keccak), 1);
  preimage.set(keccak(initCode.subarray(0, prefix.length + bytes.length)), 53);
  return keccak(preimage).slice(12);
}

// All calls reuse these buffers. With new buffers, deriving the record of two calls takes about 12%
// longer (test/derive.bench.ts, row "WASM, new buffers in derive.js").
const initCode = new Uint8Array(prefix.length + termsBytesMax);
initCode.set(prefix);
const preimage = new Uint8Array(85);
preimage[0] = 0xff;

const defaultFactory = fromHex(factoryAddress);

function factoryBytes(factory: Hex | undefined, keccak: Keccak): Uint8Array {
  const trusted = parseFactory(factory, keccak);
  return trusted === factoryAddress ? defaultFactory : fromHex(trusted);
}

/**
 * Parses the address of a factory, by default {@link factoryAddress}.
 * @throws {InvalidError}
 */
export function parseFactory(factory: Hex | undefined, keccak: Keccak): Hex {
  if (factory === undefined || factory === factoryAddress) return factoryAddress;
  return parseAddress(factory, { path: ["factory"], keccak });
}
