// Measures how long movable money waits after faults have stopped.

import type { Hex } from "executable-address";
import type { Block } from "./chain-model.ts";
import { balanceOf, type VaultModel } from "./factory-model.ts";
import { chainId, startSeconds, tokens, type World } from "./world.ts";

/** Returns the longest run of later blocks in which an address had something to do. */
export const longestWait = (world: World, afterSeconds: number, tokensOf?: TokensOf): number =>
  Math.max(...waitsOf(world, afterSeconds, tokensOf).values());

/** The tokens of an address to check: all, or only the intent's. */
type TokensOf = (vault: VaultModel) => readonly Hex[];

/**
 * Does the same as {@link longestWait} for each address, from when it has a record. Each token has
 * its own wait, because one can arrive in the block in which another leaves.
 */
export function waitsOf(
  { chain, vaults, knownAt }: World,
  after: number,
  tokensOf: TokensOf = () => tokens,
): Map<Hex, number> {
  const longest = (vault: VaultModel) => {
    const since = startSeconds + Math.max(after, knownAt.get(vault.address) ?? 0);
    const calm = chain.blocks.filter(({ timestamp }) => timestamp > since);
    return Math.max(...tokensOf(vault).map((token) => longestOf(calm, vault, token)));
  };
  return new Map(vaults.map((vault) => [vault.address, longest(vault)]));
}

function longestOf(blocks: readonly Block[], vault: VaultModel, token: Hex): number {
  let longest = 0;
  let waited = 0;
  for (const block of blocks) {
    waited = isMovable(block, vault, token) ? waited + 1 : 0;
    longest = Math.max(longest, waited);
  }
  return longest;
}

/** The token could be spent by an execution, or be returned, in the block after this one. */
function isMovable({ state, timestamp }: Block, vault: VaultModel, token: Hex): boolean {
  const { address, amount, behaviour } = vault;
  const balance = balanceOf(state, token, address);
  const isOver = state.code.has(address) || vault.chainId !== chainId;
  if (isOver || timestamp > vault.expirationSeconds) return balance > 0n;
  return behaviour === "runs" && token === vault.token && balance >= amount;
}
