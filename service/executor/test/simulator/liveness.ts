// Measures how long movable money waits at an address after the faults have ended.

import type { Hex } from "executable-address";
import type { Block } from "./chain-model.ts";
import { balanceOf, type VaultModel } from "./factory-model.ts";
import { chainId, startSeconds, tokens, type World } from "./world.ts";

/**
 * Returns the highest number of consecutive blocks after `afterSeconds` in which an address had
 * movable money.
 */
export const longestWait = (world: World, afterSeconds: number, tokensOf?: TokensOf): number =>
  Math.max(...waitsOf(world, afterSeconds, tokensOf).values());

/** The tokens to check at an address: all tokens, or only the intent's token. */
type TokensOf = (vault: VaultModel) => readonly Hex[];

/**
 * Returns {@link longestWait} for each address separately. Ignores the time before an address has a
 * record. Tokens are measured separately, because one token may arrive in the block in which
 * another leaves.
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

/** Returns whether an execution or a recovery could move the token in the next block. */
function isMovable({ state, timestamp }: Block, vault: VaultModel, token: Hex): boolean {
  const { address, amount, behaviour } = vault;
  const balance = balanceOf(state, token, address);
  const isOver = state.code.has(address) || vault.chainId !== chainId;
  if (isOver || timestamp > vault.expirationSeconds) return balance > 0n;
  return behaviour === "runs" && token === vault.token && balance >= amount;
}
