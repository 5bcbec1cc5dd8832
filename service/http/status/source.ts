// Makes the statuses that the service answers: it finds the record, asks its chain, and adds what
// the executor has in flight.

import { formatAddress } from "executable-address";
import type { BlockReference, ServiceStatus, StatusSubject } from "executable-address/status";
import { ChainUnavailable } from "../../chain/rpc/json-rpc.ts";
import type { SimulatedChain } from "../../chain/simulation/simulation.ts";
import { openStatusReader } from "../../chain/status/reader.ts";
import { openStrayReader } from "../../chain/status/strays.ts";
import { decodeRecord } from "../../store/record.ts";
import { Refusal } from "../errors.ts";
import { addressDigits } from "../input/address.ts";
import type { Parts } from "../parts.ts";
import { openBlockTimes } from "./block-times.ts";

export type Statuses = {
  /**
   * The record that a path or a query names. @throws {Refusal} as a look-up of the same address
   * would
   */
  readSubject(address: string | undefined): Promise<StatusSubject>;
  /**
   * Reads at the newest block, and tells the executor of the money that it finds.
   * @throws {ChainUnavailable}
   */
  read(subject: StatusSubject): Promise<ServiceStatus>;
  /** Reads at a block below the newest, by its number. @throws {ChainUnavailable} */
  readAt(subject: StatusSubject, number: number): Promise<ServiceStatus>;
  /** The newest block of a chain, as soon as there is another, after `ms` at the latest. */
  nextHead(chainId: number, ms: number): Promise<BlockReference>;
};

export function openStatuses(parts: Parts): Statuses {
  const { store, chains, keccak, desk } = parts;
  const readerOf = perChain(parts, openStatusReader);
  const straysOf = perChain(parts, openStrayReader);
  const settledAtOf = openBlockTimes(chains);
  const explorerOf = (chainId: number) => chains.find(chainId)?.explorer ?? null;

  return {
    async readSubject(text) {
      const digits = addressDigits(text);
      const address = Buffer.from(digits, "hex");
      const terms = await store.findTerms(address);
      if (!terms) throw new Refusal("not_found", `no intent is held for 0x${digits}`);
      const intent = decodeRecord(address, terms, parts);
      return { address: formatAddress(address, keccak), intent };
    },
    async read(subject) {
      const { chainId } = subject.intent;
      const status = await readerOf(chainId).read(subject);
      const [executor, settledAt, strays] = await Promise.all([
        desk.progressOf(status),
        settledAtOf(status),
        straysOf(chainId)(status),
      ]);
      return { ...status, executor, settledAt, explorer: explorerOf(chainId), strays };
    },
    async readAt(subject, number) {
      const { chainId } = subject.intent;
      const status = await readerOf(chainId).readAt(subject, number);
      const settledAt = await settledAtOf(status);
      const strays = await straysOf(chainId)(status);
      // The executor knows its state of now, and none of that block.
      return { ...status, executor: null, settledAt, explorer: explorerOf(chainId), strays };
    },
    nextHead: async (chainId, ms) => chains.rpcOf(chainId).heads.next(ms),
  };
}

/**
 * Calls `open` for a chain when that is first asked for, and keeps what it made.
 * @throws {ChainUnavailable} where none is configured
 */
export function perChain<Opened>(
  { chains, factory }: Pick<Parts, "chains" | "factory">,
  open: (chain: SimulatedChain) => Opened,
): (chainId: number) => Opened {
  const opened = new Map<number, Opened>();
  return (chainId) => {
    const known = opened.get(chainId);
    if (known) return known;
    const chain = chains.find(chainId);
    // Its addresses are for good, and its RPC may have been taken out of the file.
    if (!chain) throw new ChainUnavailable(`chain ${chainId} is not configured`);
    const { tokens } = chain;
    const fresh = open({ chainId, factory, rpc: chains.rpcOf(chainId), tokens });
    opened.set(chainId, fresh);
    return fresh;
  };
}
