// Reads the vaults of jobs at one block: code and balances, for the decision about each.

import { fromHex, type Hex, type Tip, tipOf, zeroAddress } from "executable-address";
import { coinOf, countOnce } from "../../chain/status/probe.ts";
import { causeOf, decodeRecord } from "../../store/record.ts";
import { CorruptError } from "../../store/store.ts";
import type { Job } from "../ledger/jobs.ts";
import type { Pass } from "../parts.ts";
import { inTurn, readGroups } from "../payments/holdings.ts";
import type { Vault, Wanted } from "./decide.ts";

export type Examined = { job: Job; wanted: Wanted; recovery: Hex; tips: Tip[]; vault: Vault };

/** A job whose terms do not derive its address, and why. */
export type Corrupt = { job: Job; cause: string };

/** Records verified in one go. Each has up to 24,576 bytes, and the process has other work. */
const verifiedMax = 25;

type Verified = Omit<Examined, "vault"> & { tokens: Hex[] };

/**
 * Reads each job's vault at one block: code, native coin, and every listed token besides the
 * intent's own. Where too little is there to act on, though money was seen, a second endpoint is
 * asked.
 */
export async function examine(
  pass: Pass,
  jobs: readonly Job[],
): Promise<{ examined: Examined[]; corrupt: Corrupt[] }> {
  const corrupt: Corrupt[] = [];
  const verified: Verified[] = [];
  for (const [index, job] of jobs.entries()) {
    const found = verify(pass, job);
    if ("cause" in found) corrupt.push(found);
    else verified.push(found);
    if (index % verifiedMax === verifiedMax - 1) await pass.parts.yieldTurn();
  }
  const turn = pass.memory.holdings.turn++;
  const vaults = await readVaults(pass, verified, turn);
  const poor = verified.filter((each, index) => isPoor(each, vaults[index]!));
  if (poor.length > 0 && pass.view.quorum > 1) {
    const others = await readVaults(pass, poor, turn + 1);
    poor.forEach((each, index) => {
      const at = verified.indexOf(each);
      if (!isPoor(each, others[index]!)) vaults[at] = others[index]!;
    });
  }
  const examined = verified.map(({ tokens: _, ...rest }, index) => ({
    ...rest,
    vault: vaults[index]!,
  }));
  return { examined, corrupt };
}

/** Whether the vault holds too little to act on. */
function isPoor({ wanted }: Verified, { hasCode, balances }: Vault): boolean {
  const held = [...balances.values()].some((amount) => amount > 0n);
  return !held || (!hasCode && (balances.get(wanted.token) ?? 0n) < wanted.amount);
}

async function readVaults(pass: Pass, items: readonly Verified[], turn: number): Promise<Vault[]> {
  const asked = items.flatMap(({ job, tokens }) =>
    tokens.map((token) => ({ vault: job.address, token })),
  );
  const shown = await readGroups(pass, asked, turn);
  const holdings = await countOnce(
    inTurn(pass, turn),
    pass.memory.holdings.nativeTokens,
    asked,
    shown,
  );
  let at = 0;
  return items.map(({ tokens }) => {
    const mine = holdings.slice(at, at + tokens.length);
    at += tokens.length;
    const balances = new Map<Hex, bigint>([[zeroAddress, coinOf(mine)]]);
    // Zero for a token that does not answer: it can neither pay nor return.
    mine.forEach(({ balance }, index) => {
      balances.set(tokens[index]!, balance ?? 0n);
    });
    return { hasCode: mine[0]!.codeBytes > 0, balances };
  });
}

function verify({ parts }: Pass, job: Job): Verified | Corrupt {
  const { chain } = parts;
  try {
    const intent = decodeRecord(fromHex(job.address), fromHex(job.terms), parts);
    const token = intent.token.toLowerCase() as Hex;
    const wanted: Wanted = {
      chainId: intent.chainId,
      token,
      amount: BigInt(intent.amount),
      expirationSeconds: intent.expirationTimestamp,
    };
    const own = intent.chainId === chain.chainId ? [token] : [];
    const tokens = [...new Set([...chain.tokens, ...own])];
    const tips = intent.calls.flatMap((call) => tipOf(call) ?? []);
    return { job, wanted, recovery: intent.recovery, tips, tokens };
  } catch (error) {
    if (error instanceof CorruptError) return { job, cause: causeOf(error) };
    throw error;
  }
}
