// How long money waits that could be moved, once faults have stopped.

import type { Hex } from "executable-address";
import type { Block } from "./chain-model.ts";
import { balanceOf, type VaultModel } from "./factory-model.ts";
import { chainId, startSeconds, tokens, type World } from "./world.ts";

/** The most blocks in a row, later than so, in which something could be done for an address. */
export const longestWait = (world: World, afterSeconds: number): number =>
  Math.max(...waitsOf(world, afterSeconds).values());

/** Does the same as {@link longestWait} for each address. */
export function waitsOf({ chain, vaults }: World, afterSeconds: number): Map<Hex, number> {
  const calm = chain.blocks.filter(({ timestamp }) => timestamp > startSeconds + afterSeconds);
  return new Map(vaults.map((vault) => [vault.address, longestOf(calm, vault)]));
}

function longestOf(blocks: readonly Block[], vault: VaultModel): number {
  let longest = 0;
  let waited = 0;
  for (const block of blocks) {
    waited = isMovable(block, vault) ? waited + 1 : 0;
    longest = Math.max(longest, waited);
  }
  return longest;
}

/** It could be executed, or what it holds be returned, in the block after this one. */
function isMovable({ state, timestamp }: Block, vault: VaultModel): boolean {
  const { address, token, amount, behaviour } = vault;
  const isOver = state.code.has(address) || vault.chainId !== chainId;
  if (isOver || timestamp > vault.expirationSeconds) {
    return tokens.some((each) => balanceOf(state, each, address) > 0n);
  }
  return behaviour === "runs" && balanceOf(state, token, address) >= amount;
}
