// Which of the known chains are listed now: all but those whose RPC contradicted the file.

import type { Chain } from "./chains.ts";

export type Chains = {
  /** Every chain of the file, in its order, listed or not. */
  known: readonly Chain[];
  /** Those on which addresses can be created now. */
  listed(): readonly Chain[];
  /** A known chain, listed or not: an address outlives its chain's listing. */
  find(chainId: number): Chain | undefined;
  isListed(chainId: number): boolean;
};
