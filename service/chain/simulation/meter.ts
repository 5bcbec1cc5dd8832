// Measures balances before and after a call, all with one eth_call. The eth_call runs
// contracts/reading/Meter.sol as init code and creates no contract. `measureReturn` measures the
// recovery of one token in this way, at a quorum of endpoints. A token can be any contract. So the
// recovery has a gas limit, and only measured balances count. If the endpoints' answers differ, the
// most cautious answer counts.

import type { Hex } from "executable-address";
import { meter } from "executable-address-contracts";
import { decodeAbiParameters, encodeDeployData, parseAbiParameters } from "viem/utils";
import type { AtBlock } from "../rpc/chain-rpc.ts";
import { type Answer, ChainUnavailable, hexData } from "../rpc/json-rpc.ts";

/** An account and a token. The zero address as `token` means the native coin. */
export type Pair = { account: Hex; token: Hex };

/** Undefined if the token did not return a 32-byte word. */
type Balance = bigint | undefined;

export type Measured = {
  chainId: number;
  /** The block's time, in Unix seconds. */
  timestamp: number;
  /** The gas that was left when the call started. */
  gas: bigint;
  succeeded: boolean;
  /** The first 512 bytes that the call returned or reverted with. */
  answer: Hex;
  /** The balances before the call, in the order of the pairs. */
  before: Balance[];
  after: Balance[];
};

/**
 * The default gas limit of the measured call. It is below the maximum of a transaction, 2^24 gas
 * (EIP-7825). Including the reads of up to `measuredBalancesMax` balances, the eth_call can
 * need 25 million gas. Nodes allow this.
 */
export const callGas = 15_000_000;
/** The layout of Meter.sol's result. */
const measured = parseAbiParameters([
  "uint256, uint256, uint256, bool, bytes, Balance[], Balance[]",
  "struct Balance { bool known; uint256 amount; }",
]);

/**
 * @param pairs at most `measuredBalancesMax`
 * @param gasMax the gas limit of the call
 * @returns init code that calls `target` with `data`; {@link parseMeter} parses its result
 */
export function meterCode(
  pairs: readonly Pair[],
  target: Hex,
  data: Hex,
  gasMax: number = callGas,
): Hex {
  const balances = pairs.map(({ account, token }) => ({ owner: account, token }));
  const args = [target, data, BigInt(gasMax), balances] as const;
  return encodeDeployData({ abi: meter.abi, bytecode: meter.bytecode, args });
}

/**
 * @param count the number of pairs
 * @throws {ChainUnavailable} if the answer is not a result of {@link meterCode}
 */
export function parseMeter(answered: Hex, count: number): Measured {
  const found = decode(answered);
  if (found?.[5].length !== count || found[6].length !== count) {
    const wanted = `balances of ${count} pairs of account and token`;
    throw new ChainUnavailable(`expected ${wanted} from the meter, found ${answered.slice(0, 80)}`);
  }
  const [chainId, timestamp, gas, succeeded, answer, before, after] = found;
  return {
    ...{ chainId: Number(chainId), timestamp: Number(timestamp) },
    ...{ gas, succeeded, answer },
    before: before.map(balanceOf),
    after: after.map(balanceOf),
  };
}

function decode(answered: Hex) {
  try {
    return decodeAbiParameters(measured, answered);
  } catch {
    return undefined;
  }
}

const balanceOf = ({ known, amount }: { known: boolean; amount: bigint }): Balance =>
  known ? amount : undefined;

/** A recovery of one token. `data` is the factory's calldata. */
type Return = {
  factory: Hex;
  vault: Hex;
  recovery: Hex;
  token: Hex;
  data: Hex;
  from: Hex;
  gasMax: number;
};

/** `unknown`: an endpoint could not run the recovery. */
export type ReturnOutcome = "moves" | "stays" | "unknown";

/** Simulates a recovery to check whether the token leaves the address and reaches `recovery`. */
export async function measureReturn(
  { chainId, timestamp, ask }: AtBlock,
  { factory, vault, recovery, token, data, from, gasMax }: Return,
): Promise<ReturnOutcome> {
  const pairs = [vault, recovery].map((account) => ({ account, token }));
  const code = meterCode(pairs, factory, data, gasMax);
  const question = (at: unknown) => ({ method: "eth_call", params: [{ from, data: code }, at] });
  const judge = (answer: Answer | undefined): ReturnOutcome => {
    if (!answer || "error" in answer) return "unknown";
    const measured = parseMeter(hexData(answer.result), pairs.length);
    if (measured.chainId !== chainId || measured.timestamp !== timestamp) return "unknown";
    const [held, received] = measured.before;
    const [left, receives] = measured.after;
    const isKnown = held !== undefined && received !== undefined;
    const isMoved = isKnown && (left ?? held) < held && (receives ?? 0n) > received;
    return measured.succeeded && isMoved ? "moves" : "stays";
  };
  const lists = await ask([question], () => true);
  const outcomes = lists.map(([answer]) => {
    try {
      return judge(answer);
    } catch {
      return "unknown";
    }
  });
  if (outcomes.includes("stays")) return "stays";
  return outcomes.includes("unknown") ? "unknown" : "moves";
}
