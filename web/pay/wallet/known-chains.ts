// Chains a wallet may not know, as viem describes them: those that service/chains.json ships.

import type { Chain } from "viem";
import { arbitrum, avalanche, base, mainnet, optimism, polygon } from "viem/chains";

const chains: readonly Chain[] = [mainnet, base, arbitrum, optimism, polygon, avalanche];

export const knownChain = (chainId: number): Chain | undefined =>
  chains.find(({ id }) => id === chainId);
