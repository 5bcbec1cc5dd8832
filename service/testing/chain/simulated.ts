// Starts a chain for tests of simulations, with functions for records, unusual contracts, and
// faulty nodes.

import type { AddressRecord, Call, Hex, Intent } from "executable-address";
import { getAddress } from "viem";
import { openChainRpc } from "../../chain/rpc/chain-rpc.ts";
import { openSimulations } from "../../chain/simulation/simulation.ts";
import { type Manner, startNode } from "./node.ts";
import { deployOdd } from "./odd-contracts.ts";
import { startWorld } from "./world.ts";

export const shop: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
export const stranger: Hex = getAddress(`0x${"55".repeat(20)}`);

export const transfer = (token: Hex, amount = "100", to = shop): Call => ({
  target: token,
  function: "transfer(address to, uint256 amount)",
  args: [to, amount],
});

export type SimulatedWorld = Awaited<ReturnType<typeof startSimulated>>;

export async function startSimulated() {
  const world = await startWorld();
  /**
   * The contract `Shop` from the contracts' tests, which accepts payments and can fail in several
   * ways.
   */
  const target = await deployOdd(world, "Shop");
  const tokens = [{ symbol: "DMO", address: world.token, decimals: 6 }];
  /** Returns the test's chain with the endpoint `url`. */
  const chainAt = (url: string) => ({ ...world.chain, rpc: openChainRpc([url]), tokens });

  return {
    ...world,
    target,
    chainAt,
    deployOdd: (name: string) => deployOdd(world, name, "OddTokens"),
    simulate: (record: AddressRecord, url = world.rpcUrl) => openSimulations(chainAt(url))(record),
    onShop: (text: string, ...args: string[]): Call => ({ target, function: text, args }),
    /** Creates a record with `calls`, and pays 100 units to its address. */
    async paid(calls?: Call[], change: Partial<Intent> = {}): Promise<AddressRecord> {
      const record = await world.newRecord({ ...(calls ? { calls } : {}), ...change });
      await world.pay(record.address, 100n, record.intent.token);
      return record;
    },
    /**
     * Starts a proxy in front of the test's node, and calls `use`. `manner` defines the behavior of
     * the proxy.
     */
    async through(manner: Manner, use: (url: string, calls: string[]) => Promise<void>) {
      const node = await startNode(world.rpcUrl, manner);
      try {
        await use(node.rpcUrl, node.calls);
      } finally {
        await node.stop();
      }
    },
  };
}
