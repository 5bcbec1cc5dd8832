// The factory's events of some vaults in a range of blocks, as a node answers eth_getLogs: checked
// against what was asked for, and told apart from a node's refusal to answer for so much at once.

import type { Hex } from "executable-address";
import type { Execution, Recovery } from "executable-address/status";
import { paymentFactoryAbi } from "executable-address-contracts";
import {
  formatLog,
  getAbiItem,
  getAddress,
  numberToHex,
  pad,
  parseEventLogs,
  type RpcLog,
  toEventSelector,
} from "viem";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { ChainUnavailable, isRefusal } from "../rpc/json-rpc.ts";

/** A chain to read from, and whose events count there. */
export type ChainAccess = { chainId: number; factory: Hex; rpc: ChainRpc };

/** An event of a vault, in the shape a status tells it. Addresses in EIP-55 case. */
export type VaultLog = { vault: Hex } & (
  | { name: "Executed"; token: Hex; entry: Execution }
  | { name: "Recovered"; entry: Recovery }
);

/** Blocks, both inclusive. */
export type Range = { from: number; to: number };

/** The node was reached and did not answer for so much; `refused` says how it put that. */
export type Refused = { refused: string };

const events = [
  getAbiItem({ abi: paymentFactoryAbi, name: "Executed" }),
  getAbiItem({ abi: paymentFactoryAbi, name: "Recovered" }),
] as const;
const selectors = events.map((event) => toEventSelector(event));

/**
 * @param vaults at most a few hundred, as one filter takes them
 * @returns oldest first, or the node's refusal
 * @throws {ChainUnavailable} on a log that was not asked for
 */
export async function readLogs(
  { rpc, factory }: ChainAccess,
  vaults: Hex[],
  range: Range,
): Promise<VaultLog[] | Refused> {
  const filter = {
    address: factory,
    topics: [selectors, vaults.map((vault) => pad(vault).toLowerCase() as Hex)],
    fromBlock: numberToHex(range.from),
    toBlock: numberToHex(range.to),
  };
  let raw: RpcLog[];
  try {
    raw = (await rpc.request("eth_getLogs", [filter])) as RpcLog[];
  } catch (error) {
    if (isRefusal(error)) return { refused: error.message };
    throw error;
  }
  const logs = parseEventLogs({ abi: events, logs: raw.map((log) => formatLog(log)) });
  const asked = new Set(vaults.map((vault) => getAddress(vault)));
  const found = logs.map((log): VaultLog => {
    const blockNumber = Number(log.blockNumber);
    const isAsked =
      asked.has(log.args.vault) &&
      getAddress(log.address) === getAddress(factory) &&
      blockNumber >= range.from &&
      blockNumber <= range.to &&
      !log.removed;
    if (!isAsked) throw new ChainUnavailable(`a log of block ${blockNumber} was not asked for`);
    const place = {
      transactionHash: log.transactionHash!,
      blockNumber,
      blockHash: log.blockHash!,
      logIndex: log.logIndex!,
    };
    const { vault, token } = log.args;
    if (log.eventName === "Recovered") {
      const entry = { ...place, token, amount: String(log.args.amount) };
      return { vault, name: "Recovered", entry };
    }
    const entry = { ...place, held: String(log.args.held), left: String(log.args.left) };
    return { vault, name: "Executed", token, entry };
  });
  if (found.length < raw.length)
    throw new ChainUnavailable("a log is none of the factory's events");
  return found.sort((a, b) => order(a.entry) - order(b.entry));
}

/** A block has far fewer than 2^20 logs, so one number orders events across blocks. */
const order = (entry: Execution | Recovery) => entry.blockNumber * 2 ** 20 + entry.logIndex;
