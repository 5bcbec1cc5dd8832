// Money that came to an open address and is not of its token: the chain's coin, or another listed
// token. It is no part of a status, which the record and one block decide; the service lists it
// beside the status.

import { type Hex, zeroAddress } from "executable-address";
import {
  type AddressStatus,
  type BlockReference,
  type Holding,
  isOpenState,
  isSame,
  type TokenAmount,
} from "executable-address/status";
import { recalled } from "../../flow/recalled.ts";
import { togetherBy } from "../../flow/together.ts";
import { oneAt } from "../rpc/call-at.ts";
import type { ChainAccess } from "./logs.ts";
import { coinOf, countOnce } from "./native-token.ts";
import { type Holder, readHoldings } from "./probe.ts";

/** An address and a block; those dropped are read again when asked for again. */
const answersMax = 20_000;
/** Addresses of one reading. */
const groupMax = 1_000;

/**
 * @returns how to find them at the block of a status: none once the address is over, since
 *   `recoverable` tells of money then, and null where the chain does not answer
 */
export function openStrayReader(chain: ListedChain) {
  const nativeTokens = new Map<Hex, boolean>();
  const answered = recalled<TokenAmount[]>(answersMax);

  const readOne = async ({ address, token, block }: AddressStatus) => {
    const others = chain.tokens.filter((each) => !isSame(each.address, token));
    const holders = [token, ...others.map((each) => each.address)].map((held) => ({
      vault: address,
      token: held,
    }));
    const holdings = await ask({ block, holders });
    const held = holdings.slice(1).map(({ balance = 0n }, at) => ({
      token: others[at]!.address,
      amount: balance,
    }));
    return [{ token: zeroAddress, amount: coinOf(holdings) }, ...held]
      .filter(({ amount }) => amount > 0n)
      .map(({ token, amount }) => ({ token, amount: String(amount) }));
  };

  const readAll = async (asked: StraysQuestion[]) => {
    const holders = asked.flatMap((each) => each.holders);
    const atBlock = oneAt(chain, asked[0]!.block);
    const [shown] = await readHoldings(atBlock, holders);
    // Coin that is a token seen another way is counted as the token, here too.
    const all = await countOnce(atBlock, nativeTokens, holders, shown!);
    return asked.map((each) => all.splice(0, each.holders.length));
  };
  const ask = togetherBy<StraysQuestion, Holding[]>(({ block }) => block.hash, readAll, groupMax);

  return async (status: AddressStatus): Promise<TokenAmount[] | null> => {
    if (!isOpenState(status.state)) return [];
    const key = `${status.address} ${status.block.hash}`;
    return answered(key, () => readOne(status)).catch(() => null);
  };
}

type ListedChain = Pick<ChainAccess, "chainId" | "rpc"> & { tokens: readonly { address: Hex }[] };
type StraysQuestion = { block: BlockReference; holders: Holder[] };
