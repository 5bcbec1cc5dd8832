// Makes proofs of the statuses of one chain's addresses. Requests for the same address and block
// share one proof. Few proofs run simultaneously, because a proof can require all receipts of a
// block.

import { type AddressRecord, type Hex, type Keccak, makeRecord } from "executable-address";
import {
  type AddressProof,
  type AgreedBlock,
  findPayments,
  type GatherOptions,
  type PaymentsUpTo,
  ProofError,
  proveAt,
  type SavedReceipt,
} from "executable-address/proof";
import {
  findBlock,
  type Rpc,
  RpcError,
  type StatusSubject,
  toQuantity,
} from "executable-address/status";
import { LRUCache } from "lru-cache";
import { openGate } from "../flow/gate.ts";
import { recalled } from "../flow/together.ts";
import type { ChainRpc } from "./rpc/chain-rpc.ts";
import { CallRefused, ChainUnavailable } from "./rpc/json-rpc.ts";

/** A JSON-RPC block tag or a block number. */
export type ProofBlock = "latest" | "finalized" | number;

/**
 * @throws {ProofError} with the code `unproved` if the node returns no valid proof
 * @throws {ChainUnavailable} if the chain cannot be read
 */
export type Prove = (subject: StatusSubject, block: ProofBlock) => Promise<ServedProof>;

/**
 * A proof of a status, and the largest payments with their proofs. `paymentsOmitted` is the number
 * of other transactions with payments.
 */
type ServedProof = AddressProof & Pick<SavedReceipt, "payments"> & { paymentsOmitted: number };

type Made = { served: ServedProof; disputed: boolean };

/**
 * The maximum number of cached proofs, and of addresses with cached payments. If a proof is cached,
 * the node gets only one request, for the block. http/proof/proof.test.ts counts the requests. A
 * proof can be up to 300 kB. An evicted proof is made again on the next request.
 */
const answersMax = 250;
const runningMax = 4;

type ProvedChain = {
  readonly chainId: number;
  readonly factory: Hex;
  readonly keccak: Keccak;
  readonly rpc: ChainRpc;
};

export function openProofs({ chainId, factory, keccak, rpc }: ProvedChain): Prove {
  const inTurn = openGate(runningMax);
  // A disputed list of payments may be incomplete, and the node may report more payments later.
  const recall = recalled<Made>(answersMax, ({ disputed }) => !disputed);
  const paid = new LRUCache<Hex, PaymentsUpTo>({ max: answersMax });
  const ask = libraryRpc(rpc);
  const recordOf = ({ intent }: StatusSubject): AddressRecord =>
    makeRecord(intent, { factory, keccak });

  return async (subject, wanted) => {
    const found = await findBlock(ask, typeof wanted === "number" ? toQuantity(wanted) : wanted);
    if (!found) {
      const block = typeof wanted === "number" ? `block ${wanted}` : `${wanted} block`;
      throw new ProofError("unproved", `the node has no ${block}`);
    }
    const options = { rpcs: [ask], factory, keccak };
    const block = { ...found, chainId, head: found.number };
    const make = async () => {
      const record = recordOf(subject);
      const proof = await proveAt(record, block, options);
      const paid = await whoPaid(record, block, options).catch((error) => {
        if (!(error instanceof ProofError) || chainFault(error)) throw error;
        return { payments: [], omitted: 0, disputed: true };
      });
      const { payments, omitted, disputed } = paid;
      return { served: { ...proof, payments, paymentsOmitted: omitted }, disputed };
    };
    const { served } = await recall(`${subject.address} ${found.hash}`, () =>
      inTurn(make).catch((error) => {
        throw chainFault(error) ?? error;
      }),
    );
    return served;
  };

  /**
   * Finds the payments to the address of `record`. An address can have ten thousand small payments,
   * so the payments are cached. A proof at a later block then reads only newer payments.
   */
  async function whoPaid(record: AddressRecord, block: AgreedBlock, options: GatherOptions) {
    const since = paid.get(record.address);
    const found = await findPayments(record, block, options, since);
    if (found.disputed) return found;
    if (!since || found.block.number > since.block.number) paid.set(record.address, found);
    return found;
  }
}

/** Adapts `rpc` to the interface that the library expects. */
export function libraryRpc(rpc: Pick<ChainRpc, "request">): Rpc {
  return async (method, params) => {
    try {
      return await rpc.request(method, [...params]);
    } catch (error) {
      if (error instanceof CallRefused) throw new RpcError(error.code, error.message);
      throw error;
    }
  };
}

/**
 * Returns the ChainUnavailable error among `error` and its causes. This error means that the chain
 * could not be read, and not that a proof is invalid.
 */
function chainFault(error: unknown): ChainUnavailable | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof ChainUnavailable) return each;
  }
  return undefined;
}
