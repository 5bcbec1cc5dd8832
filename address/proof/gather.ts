// Proofs, statuses and records from nodes only. The nodes must agree on a block's hash; then any
// one of them may give a proof, because it verifies or it does not. Balances have no proof, so a
// status needs the same answer from a quorum.

import { toHex } from "../abi/hex.ts";
import { type DecodedCall, decodeExecutions } from "../calldata/execution.ts";
import { factoryAddress } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import { readEvents } from "../status/events.ts";
import type { VaultEvent } from "../status/factory-events.ts";
import { parseHex, type Rpc } from "../status/rpc.ts";
import type { AddressStatus } from "../status/shape.ts";
import { readStatus } from "../status/status.ts";
import type { AddressProof } from "./address-proof.ts";
import {
  type AgreedBlock,
  type AgreementOptions,
  agree,
  blockHashOf,
  callOf,
  parseAgreement,
  type Rpcs,
  refuseUnknownOptions,
} from "./agree.ts";
import { askEvents, askOutcome } from "./build/ask.ts";
import { encodeTransaction, type Json } from "./build/fields.ts";
import { ProofError } from "./error.ts";
import { proveExecution } from "./execution.ts";
import type { ProofOptions } from "./outcome.ts";

export type GatherOptions = ProofOptions & AgreementOptions & { readonly rpcs: Rpcs };

/**
 * Proves `record` by nodes of its chain.
 *
 * @returns the proof, and the block that the nodes agreed on
 * @throws {ProofError} `no_quorum`; `unproved` where no node gave a proof that verifies
 */
export async function proveAddress(
  record: AddressRecord,
  options: GatherOptions,
): Promise<{ proof: AddressProof; agreed: AgreedBlock }> {
  const { chainId } = record.intent;
  const agreed = await blockHashOf(options.rpcs, { ...options, chainId });
  return { proof: await proveAt(record, agreed, options), agreed };
}

/**
 * Proves `record` at a block that the caller trusts.
 *
 * @throws {ProofError} `unproved`
 */
export async function proveAt(
  record: AddressRecord,
  agreed: AgreedBlock,
  options: GatherOptions,
): Promise<AddressProof> {
  refuseUnknownOptions(options);
  const { proof, found } = await fromAny(options.rpcs, (rpc) =>
    askOutcome(rpc, record, agreed, options),
  );
  const isExecuted = found.outcome === "executed";
  const execution = isExecuted ? await findExecution(record, agreed, options) : null;
  return { chainId: agreed.chainId, ...found, proof, execution };
}

/**
 * The execution up to `agreed`, in a block on which the nodes agree as well.
 *
 * @throws {ProofError} `unproved`
 */
export async function findExecution(
  record: AddressRecord,
  agreed: AgreedBlock,
  options: GatherOptions,
) {
  const wanted = { name: "Executed", prove: proveExecution } as const;
  const found = await findEvents(record, agreed, options, wanted);
  if (!found) throw new ProofError("unproved", `no node knows when ${record.address} executed`);
  const { depth: _, moved: __, ...execution } = found;
  return execution;
}

type Wanted<Found> = {
  readonly name: VaultEvent["name"];
  readonly prove: Parameters<typeof askEvents<Found>>[3];
  /** Only this transaction is looked at. */
  readonly transactionHash?: Hex;
};

/**
 * The newest event of this name up to `agreed`, proved.
 *
 * @returns undefined where `quorum` nodes know of none
 * @throws {ProofError} `unproved`
 */
export function findEvents<Found extends object>(
  record: AddressRecord,
  agreed: AgreedBlock,
  options: GatherOptions,
  { name, prove, transactionHash }: Wanted<Found>,
) {
  const { factory, address: vault } = record;
  const place = async (rpc: Rpc) => {
    const events = await readEvents(rpc, { factory, vault, from: 0, to: agreed.number });
    return events.findLast(
      (each) =>
        each.name === name && (!transactionHash || each.transactionHash === transactionHash),
    );
  };
  return findProved(record, options, place, prove);
}

type Place = Parameters<typeof askEvents>[2] & { readonly blockNumber: number };

/**
 * Proves what the transaction at a place did for `record`: a node says where it is, and the agreed
 * hash of that block whether that is so.
 *
 * @returns undefined where `quorum` nodes know of no such place
 * @throws {ProofError} `unproved`
 */
export async function findProved<Found extends object>(
  record: AddressRecord,
  { rpcs, ...options }: GatherOptions,
  placeOf: (rpc: Rpc) => Promise<Place | undefined>,
  prove: Parameters<typeof askEvents<Found>>[3],
) {
  const { quorum } = parseAgreement(rpcs, options);
  let without = 0;
  const ask = async (rpc: Rpc) => {
    const place = await placeOf(rpc);
    if (!place) {
      without += 1;
      throw new ProofError("unproved", `nothing such is known of ${record.address}`);
    }
    await assertAgreed(rpcs, place, quorum);
    const { proof, found } = await askEvents(rpc, record, place, prove, options);
    return { ...found, proof };
  };
  try {
    return await fromAny(rpcs, ask);
  } catch (error) {
    if (without >= quorum) return undefined;
    throw error;
  }
}

/**
 * Asks one of `rpcs` after another, and gives what the first that can gives.
 *
 * @throws {ProofError} `unproved`, with the reason of each
 */
export async function fromAny<T>(rpcs: Rpcs, ask: (rpc: Rpc) => Promise<T>): Promise<T> {
  const reasons: string[] = [];
  let cause: unknown;
  for (const rpc of rpcs) {
    try {
      return await ask(callOf(rpc));
    } catch (error) {
      if (error instanceof ProofError && !/^(invalid_proof|unproved)$/.test(error.code))
        throw error;
      cause = error;
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new ProofError("unproved", reasons.join("; "), { cause });
}

/**
 * The status of `record` at a block, as `quorum` nodes read it alike.
 *
 * @throws {ProofError} `no_quorum`
 */
export async function readAgreed(
  record: AddressRecord,
  agreed: Pick<AgreedBlock, "hash">,
  { rpcs, ...options }: GatherOptions,
): Promise<AddressStatus> {
  const { quorum } = parseAgreement(rpcs, options);
  const reasons: string[] = [];
  const readings = await Promise.all(
    rpcs.map((rpc) =>
      readStatus(record, { rpc: callOf(rpc), blockHash: agreed.hash }).catch((error: Error) => {
        reasons.push(error.message);
        return undefined;
      }),
    ),
  );
  const texts = readings.map((reading) => JSON.stringify(reading));
  const found = readings.find(
    (reading, index) => reading && texts.filter((text) => text === texts[index]).length >= quorum,
  );
  if (found) return found;
  const message = `${quorum} of ${rpcs.length} endpoints read nothing alike of ${record.address}`;
  throw new ProofError("no_quorum", [message, ...reasons].join("; "));
}

/**
 * Decodes what a transaction to the factory asked for: a single call, or each item of a batch.
 *
 * @throws {ProofError} `unproved` where no node has it, or it is none of the factory's
 */
export async function rebuild(
  transactionHash: Hex,
  { rpcs, ...options }: ProofOptions & { readonly rpcs: Rpcs },
): Promise<DecodedCall[]> {
  refuseUnknownOptions(options);
  const keccak = chooseKeccak(options);
  const factory = (options.factory ?? factoryAddress).toLowerCase();
  return fromAny(rpcs, async (rpc) => {
    const json = (await rpc("eth_getTransactionByHash", [transactionHash])) as Json | null;
    const bytes = json && encodeTransaction(json);
    if (!bytes || toHex(keccak(bytes)) !== transactionHash.toLowerCase())
      throw new ProofError("unproved", `no bytes that make the transaction ${transactionHash}`);
    if (json.to === null || parseHex(json.to, "to", 20) !== factory)
      throw new ProofError("unproved", `${transactionHash} does not call the factory itself`);
    return decodeExecutions(parseHex(json.input, "input"), options);
  });
}

/** @throws {ProofError} `unproved` unless `quorum` of `rpcs` have the block of that hash there */
export async function assertAgreed(
  rpcs: Rpcs,
  { blockNumber, blockHash }: { readonly blockNumber: number; readonly blockHash: string },
  quorum: number,
): Promise<void> {
  const block = await agree(rpcs, blockNumber, quorum);
  if (block?.hash !== blockHash)
    throw new ProofError("unproved", `block ${blockNumber} is not one that others have`);
}
