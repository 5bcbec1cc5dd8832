// Records from a transaction of the chain: its hash binds the calldata, so any node may give it.

import { toHex } from "../abi/hex.ts";
import { type DecodedCall, decodeExecutions } from "../calldata/execution.ts";
import { factoryAddress } from "../deployment.ts";
import type { Hex } from "../intent/intent.ts";
import { keccakOf } from "../keccak/keccak.ts";
import { hexOf } from "../status/rpc.ts";
import type { Rpcs } from "./agree.ts";
import { encodeTransaction, type Json } from "./build/fields.ts";
import { ProofError } from "./error.ts";
import { fromAny } from "./gather.ts";
import type { ProofOptions } from "./outcome.ts";

/**
 * Decodes what a transaction to the factory asked for: a single call, or each item of a batch.
 *
 * @throws {ProofError} `unproved` where no node has it, or it is none of the factory's
 */
export async function rebuild(
  transactionHash: Hex,
  { rpcs, ...options }: ProofOptions & { readonly rpcs: Rpcs },
): Promise<DecodedCall[]> {
  const keccak = keccakOf(options);
  const factory = (options.factory ?? factoryAddress).toLowerCase();
  return fromAny(rpcs, async (rpc) => {
    const json = (await rpc("eth_getTransactionByHash", [transactionHash])) as Json | null;
    const bytes = json && encodeTransaction(json);
    if (!bytes || toHex(keccak(bytes)) !== transactionHash.toLowerCase())
      throw new ProofError("unproved", `no bytes that make the transaction ${transactionHash}`);
    if (json.to === null || hexOf(json.to, "to", 20) !== factory)
      throw new ProofError("unproved", `${transactionHash} does not call the factory itself`);
    return decodeExecutions(hexOf(json.input, "input"), options);
  });
}
