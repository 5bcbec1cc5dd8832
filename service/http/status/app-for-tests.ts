// The service on a chain of its own, for tests of status and events.

import { type AddressRecord, fromHex } from "executable-address";
import { parseChains } from "../../chain/chains.ts";
import type { Chains } from "../../chain/registry.ts";
import { openChainRpc } from "../../chain/rpc/chain-rpc.ts";
import type { World } from "../../chain/status/world-for-tests.ts";
import type { TestApp } from "../app-for-tests.ts";

/** The world's chain, listed; asked at `rpcUrl`, which may be another's or nobody's. */
export function chainsAt({ token, chain, rpcUrl: itsOwn }: World, rpcUrl = itsOwn): Chains {
  const { chainId } = chain;
  const tokens = [{ symbol: "DMO", address: token, decimals: 6 }];
  const known = parseChains([{ chainId, name: "Local", rpcUrls: [rpcUrl], tokens }], "the test");
  const rpc = openChainRpc(known[0]!.rpcUrls);
  return {
    known,
    listed: () => known,
    find: (id) => known.find((each) => each.chainId === id),
    isListed: (id) => id === chainId,
    rpcOf: () => rpc,
    close: () => {},
  };
}

/** As create would have. */
export async function keepRecord({ parts }: TestApp, record: AddressRecord) {
  await parts.store.saveRecord({
    address: fromHex(record.address),
    terms: fromHex(record.terms),
    accountId: "acc_0123456789abcdef01234567",
    createdAtMs: Date.now(),
  });
  return record;
}
