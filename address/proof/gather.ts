// Requests proofs, statuses, and records from nodes. The nodes must first agree on the hash of a
// block. Any node can then provide a proof, because each proof is verified. Balances have no proof,
// so a quorum of nodes must return the same status.

import { toHex } from "../abi/hex.ts";
import { type DecodedCall, decodeExecutions } from "../calldata/execution.ts";
import { factoryAddress } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import { readEvents } from "../status/events.ts";
import type { VaultEvent } from "../status/factory-events.ts";
import { readStatus } from "../status/read.ts";
import { parseHex, type Rpc } from "../status/rpc.ts";
import type { AddressStatus } from "../status/shape.ts";
import type { AddressProof } from "./address-proof.ts";
import {
  type AgreedBlock,
  agree,
  blockHashOf,
  type GatherOptions,
  listAnswers,
  parseAgreement,
  pickAgreed,
  type Rpcs,
  reasonOf,
  refuseUnknownOptions,
  toRpc,
} from "./agree.ts";
import { askEvents, askOutcome } from "./build/ask.ts";
import { encodeTransaction, type Json } from "./build/fields.ts";
import { isFinal, ProofError } from "./error.ts";
import { proveExecution } from "./execution.ts";
import type { ProofOptions } from "./outcome.ts";

/**
 * Proves the outcome of `record` with nodes of its chain.
 *
 * @returns the proof, and the block on which the nodes agreed
 * @throws {ProofError} `no_quorum`; `unproved` if no node provided a valid proof
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
 * Proves the outcome of `record` at a block that the caller trusts.
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
 * Proves the execution. The execution can be in `agreed` or in an earlier block. The nodes must
 * also agree on that block.
 *
 * @throws {ProofError} `unproved`
 */
export async function findExecution(
  record: AddressRecord,
  agreed: AgreedBlock,
  options: GatherOptions,
) {
  const query = { name: "Executed", prove: proveExecution } as const;
  const found = await findEvents(record, agreed, options, query);
  if (!found)
    throw new ProofError("unproved", `no node reports the execution of ${record.address}`);
  const { depth: _, moved: __, ...execution } = found;
  return execution;
}

type EventQuery<Found> = {
  readonly name: VaultEvent["name"];
  readonly prove: Parameters<typeof askEvents<Found>>[3];
  /** If defined, only events of this transaction are used. */
  readonly transactionHash?: Hex;
};

/**
 * Finds and proves the newest event with this name, up to the block `agreed`.
 *
 * @returns undefined if a quorum of nodes reports no such event
 * @throws {ProofError} `unproved`
 */
export function findEvents<Found extends object>(
  record: AddressRecord,
  agreed: AgreedBlock,
  options: GatherOptions,
  { name, prove, transactionHash }: EventQuery<Found>,
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
 * Finds a transaction with `findPlace`, and proves its effect on the address of `record`. Asks one
 * node after another until a proof succeeds. A quorum of nodes must agree on the block in which a
 * node found the transaction.
 *
 * @returns undefined if a quorum of nodes reports that there is no such transaction
 * @throws {ProofError} `unproved`
 */
export async function findProved<Found extends object>(
  record: AddressRecord,
  { rpcs, ...options }: GatherOptions,
  findPlace: (rpc: Rpc) => Promise<Place | undefined>,
  prove: Parameters<typeof askEvents<Found>>[3],
) {
  const { quorum } = parseAgreement(rpcs, options);
  let without = 0;
  const ask = async (rpc: Rpc) => {
    const place = await findPlace(rpc);
    if (!place) {
      without += 1;
      throw new ProofError("unproved", `the node returned no matching event of ${record.address}`);
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
 * Calls `ask` with each of `rpcs` in order, and returns the first result.
 *
 * @throws {ProofError} `unproved`, with the error of each node
 */
export async function fromAny<T>(rpcs: Rpcs, ask: (rpc: Rpc) => Promise<T>): Promise<T> {
  const reasons: string[] = [];
  let cause: unknown;
  for (const rpc of rpcs) {
    try {
      return await ask(toRpc(rpc));
    } catch (error) {
      if (isFinal(error)) throw error;
      cause = error;
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new ProofError("unproved", reasons.join("; "), { cause });
}

/**
 * Returns the status of `record` at a block, on which a quorum of nodes agrees.
 *
 * @throws {ProofError} `no_quorum`
 */
export async function readAgreed(
  record: AddressRecord,
  agreed: Pick<AgreedBlock, "hash">,
  { rpcs, ...options }: GatherOptions,
): Promise<AddressStatus> {
  const { quorum } = parseAgreement(rpcs, options);
  const readings = await Promise.all(
    rpcs.map((rpc) =>
      readStatus(record, { rpc: toRpc(rpc), blockHash: agreed.hash }).catch(reasonOf),
    ),
  );
  const statuses = readings.filter((reading) => typeof reading === "object");
  const found = pickAgreed(statuses, quorum);
  if (found) return found;
  const seen = readings.map((reading) =>
    typeof reading === "string" ? reading : `${reading.state} with balance ${reading.balance}`,
  );
  throw new ProofError(
    "no_quorum",
    `expected ${quorum} of ${rpcs.length} endpoints to return the same status of ` +
      `${record.address} at block ${agreed.hash}, found ${listAnswers(seen)}`,
  );
}

/**
 * Decodes the factory calls of a transaction: one call, or each item of a batch.
 *
 * @throws {ProofError} `unproved` if no node has the transaction, or if the transaction does not
 *   call the factory
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
      throw new ProofError("unproved", `the node has no transaction ${transactionHash}`);
    const to = json.to === null ? "a creation" : parseHex(json.to, "to", 20);
    if (to !== factory)
      throw new ProofError(
        "unproved",
        `${transactionHash}: expected a call of the factory ${factory}, found ${to}`,
      );
    return decodeExecutions(parseHex(json.input, "input"), options);
  });
}

/**
 * @throws {ProofError} `unproved` unless a quorum of `rpcs` has a block with this number and hash
 */
export async function assertAgreed(
  rpcs: Rpcs,
  { blockNumber, blockHash }: { readonly blockNumber: number; readonly blockHash: string },
  quorum: number,
): Promise<void> {
  const { block, answers } = await agree(rpcs, blockNumber, quorum);
  if (block?.hash === blockHash) return;
  throw new ProofError(
    "unproved",
    `block ${blockNumber}: expected ${quorum} of ${rpcs.length} endpoints to have the hash ` +
      `${blockHash}, found ${answers}`,
  );
}
