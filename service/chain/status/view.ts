// A chain as one reading sees it, at one block: each block is read once, and vaults that need logs
// of the same blocks share a request.

import type { Hex } from "executable-address";
import type { BlockReference, VaultEvent } from "executable-address/status";
import { toQuantity } from "executable-address/status";
import { groupsOf } from "../../flow/groups.ts";
import { togetherBy } from "../../flow/together.ts";
import { findBlockAt } from "../rpc/heads.ts";
import { hexData, isRefusal } from "../rpc/json-rpc.ts";
import { type ChainAccess, type Range, type Refused, readLogs } from "./logs.ts";

export type ChainView = {
  chain: ChainAccess;
  block: BlockReference;
  /** The block of that number in the chain as it is now; undefined past its head. */
  blockAt(number: number): Promise<BlockReference | undefined>;
  /** Undefined where the node refuses: it may have forgotten the state of that block. */
  hasCodeAt(vault: Hex, number: number): Promise<boolean | undefined>;
  logs(vault: Hex, range: Range): Promise<VaultEvent[] | Refused>;
};

/** One filter's worth: a node takes more, but its gateway may not. */
const vaultsPerFilter = 200;
const groupMax = 15_000;

export function viewAt(chain: ChainAccess, block: BlockReference): ChainView {
  const blocks = new Map<number, Promise<BlockReference | undefined>>();
  return {
    chain,
    block,
    blockAt(number) {
      const known = blocks.get(number) ?? findBlockAt(chain.rpc, number);
      blocks.set(number, known);
      return known;
    },
    async hasCodeAt(address, number) {
      try {
        const params = [address, toQuantity(number)];
        return hexData(await chain.rpc.request("eth_getCode", params)) !== "0x";
      } catch (error) {
        if (isRefusal(error)) return undefined;
        throw error;
      }
    },
    logs: logsTogether(chain),
  };
}

type Wanted = { vault: Hex; range: Range };

/** Requests for the same blocks, made in the same turn of the event loop, share a filter. */
function logsTogether(chain: ChainAccess): ChainView["logs"] {
  const readAll = async (wanted: Wanted[]) => {
    const answers = [...groupsOf(wanted, vaultsPerFilter)].map(async (part) => {
      const vaults = part.map(({ vault }) => vault);
      const logs = await readLogs(chain, vaults, part[0]!.range).catch(asError);
      return part.map((each) => (Array.isArray(logs) ? ofVault(logs, each) : logs));
    });
    return (await Promise.all(answers)).flat();
  };
  const rangeOf = ({ range }: Wanted) => `${range.from}-${range.to}`;
  const ask = togetherBy<Wanted, VaultEvent[] | Refused>(rangeOf, readAll, groupMax);
  return (vault, range) => ask({ vault, range });
}

const ofVault = (logs: VaultEvent[], { vault }: Wanted) =>
  logs.filter((log) => log.vault === vault.toLowerCase());

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
