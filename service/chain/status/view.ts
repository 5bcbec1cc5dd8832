// A chain as one reading sees it: at one block, whatever is asked twice asked once, and the logs
// that many vaults want of the same blocks asked for together.

import type { Hex } from "executable-address";
import type { BlockReference } from "executable-address/status";
import {
  blockCall,
  blockOf,
  ChainUnavailable,
  hexData,
  isRefusal,
  toQuantity,
} from "../rpc/json-rpc.ts";
import { type ChainAccess, type Range, type Refused, readLogs, type VaultLog } from "./logs.ts";

export type ChainView = {
  chain: ChainAccess;
  block: BlockReference;
  /** The block of that number in the chain as it is now; undefined past its head. */
  blockAt(number: number): Promise<BlockReference | undefined>;
  hasCodeAt(vault: Hex, number: number): Promise<boolean | "refused">;
  logs(vault: Hex, range: Range): Promise<VaultLog[] | Refused>;
};

/** One filter's worth: a node takes more, but its gateway may not. */
const vaultsPerFilter = 200;

export function viewAt(chain: ChainAccess, block: BlockReference): ChainView {
  const blocks = new Map<number, Promise<BlockReference | undefined>>();
  return {
    chain,
    block,
    blockAt(number) {
      const known = blocks.get(number) ?? findBlock(chain, number);
      blocks.set(number, known);
      return known;
    },
    async hasCodeAt(address, number) {
      try {
        const params = [address, toQuantity(number)];
        return hexData(await chain.rpc.request("eth_getCode", params)) !== "0x";
      } catch (error) {
        if (isRefusal(error)) return "refused";
        throw error;
      }
    },
    logs: logsTogether(chain),
  };
}

/** @throws {ChainUnavailable} when there is no head to speak of */
export async function findHead(chain: ChainAccess): Promise<BlockReference> {
  const head = await findBlock(chain, "latest");
  if (!head) throw new ChainUnavailable(`the node of chain ${chain.chainId} has no block`);
  return head;
}

/** The block of that number in the chain as it is now; undefined where there is none. */
export async function findBlock(
  { rpc }: ChainAccess,
  number: number | "latest",
): Promise<BlockReference | undefined> {
  const { method, params } = blockCall(number);
  const answer = await rpc.request(method, params);
  if (answer === null) return undefined;
  const block = blockOf(answer);
  return { number: block.number, hash: block.hash, timestamp: block.timestamp };
}

type Waiting = { vault: Hex; resolve: (logs: VaultLog[] | Refused) => void; reject: Reject };
type Reject = (error: unknown) => void;

/** Requests for the same blocks, made in the same turn of the event loop, share a filter. */
function logsTogether(chain: ChainAccess): ChainView["logs"] {
  const queues = new Map<string, Waiting[]>();
  const flush = (key: string, range: Range) => {
    const waiting = queues.get(key) ?? [];
    queues.delete(key);
    for (let i = 0; i < waiting.length; i += vaultsPerFilter) {
      const part = waiting.slice(i, i + vaultsPerFilter);
      readLogs(
        chain,
        part.map(({ vault }) => vault),
        range,
      ).then(
        (logs) => {
          for (const { vault, resolve } of part) {
            resolve("refused" in logs ? logs : logs.filter((log) => log.vault === vault));
          }
        },
        (error) => {
          for (const { reject } of part) reject(error);
        },
      );
    }
  };
  return (vault, range) =>
    new Promise((resolve, reject) => {
      const key = `${range.from}-${range.to}`;
      const waiting = queues.get(key);
      if (waiting) waiting.push({ vault, resolve, reject });
      else {
        queues.set(key, [{ vault, resolve, reject }]);
        setImmediate(() => flush(key, range));
      }
    });
}
