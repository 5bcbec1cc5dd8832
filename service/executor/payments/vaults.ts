// Reads the code and the token balances of addresses at one block. Up to `pairsPerCallMax` balances
// are read with one eth_call.

import { fromHex, type Hex, type Tip, tipOf, zeroAddress } from "executable-address";
import type { Holding } from "executable-address/status";
import type { AtBlock } from "../../chain/rpc/chain-rpc.ts";
import { type Answer, type Call, ChainUnavailable } from "../../chain/rpc/json-rpc.ts";
import type { Usable } from "../../chain/rpc/view.ts";
import {
  coinOf,
  countOnce,
  fewerPairs,
  morePairs,
  type NativeTokens,
  pairsPerCallMax,
  readHoldings,
  type VaultToken,
} from "../../chain/status/probe.ts";
import { groupsOf, partsOf } from "../../flow/groups.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { causeOf, decodeRecord } from "../../store/record.ts";
import { CorruptError } from "../../store/store.ts";
import type { Job } from "../ledger/jobs.ts";
import type { Pass } from "../pass.ts";

/**
 * The fields of an intent that jobs/decide.ts needs. `token` is lowercase. `expirationSeconds` is
 * the last second at which the intent is open.
 */
export type Wanted = { chainId: number; token: Hex; amount: bigint; expirationSeconds: number };

/**
 * The state of an address at one block. `balances` are in base units, by token, and the zero
 * address means the native coin. Tokens whose contract does not answer are omitted.
 */
export type Vault = { hasCode: boolean; balances: ReadonlyMap<Hex, bigint> };

export type Examined = { job: Job; wanted: Wanted; recovery: Hex; tips: Tip[]; vault: Vault };

/** A job whose stored terms do not match its address, with the cause of the mismatch. */
export type Corrupt = { job: Job; cause: string };

/**
 * After verifying this number of records, the executor lets other tasks run. The terms in a record
 * have up to 24,576 bytes.
 */
const verifiedMax = 25;

type Verified = Omit<Examined, "vault"> & { tokens: Hex[] };
type Read = Verified & { vault: Vault };

/**
 * Reads the code and the balances of each job's address at one block. The balances include native
 * coin, the intent's token, listed tokens, and received look-alike tokens. Addresses with too
 * little money are read again, starting with another endpoint.
 */
export async function examine(
  pass: HoldingsPass,
  jobs: readonly Job[],
): Promise<{ examined: Examined[]; corrupt: Corrupt[] }> {
  const corrupt: Corrupt[] = [];
  const verified: Verified[] = [];
  const misdirected = await findLookalikes(pass, jobs);
  for (const [index, job] of jobs.entries()) {
    const found = decode(pass, job, misdirected.get(job.address) ?? []);
    if (found.kind === "corrupt") corrupt.push(found.corrupt);
    else verified.push(found.verified);
    if (index % verifiedMax === verifiedMax - 1) await pass.parts.yieldTurn();
  }
  const turn = pass.memory.holdings.turn++;
  const read = await readVaults(pass, verified, turn);
  const poor = read.filter(isPoor);
  const isReread = poor.length > 0 && pass.view.quorum > 1;
  const reread = isReread ? await readVaults(pass, poor, turn + 1) : [];
  const richer = new Map(
    reread.filter((each) => !isPoor(each)).map(({ job, vault }) => [job.address, vault]),
  );
  const examined = read.map(({ tokens: _, ...rest }) => ({
    ...rest,
    vault: richer.get(rest.job.address) ?? rest.vault,
  }));
  return { examined, corrupt };
}

async function findLookalikes({ parts }: Pass, jobs: readonly Job[]): Promise<Map<Hex, Hex[]>> {
  const { chainId, lookalikes } = parts.chain;
  if (lookalikes.size === 0) return new Map();
  const addresses = jobs.map(({ address }) => address);
  const found = await parts.ledger.findMisdirectedTokens(chainId, addresses);
  return new Map(
    [...found].map(([address, tokens]) => [address, tokens.filter((each) => lookalikes.has(each))]),
  );
}

/** Returns whether the address has too little money for an execution or a recovery. */
function isPoor({ wanted, vault: { hasCode, balances } }: Read): boolean {
  const hasMoney = [...balances.values()].some((amount) => amount > 0n);
  return !hasMoney || (!hasCode && (balances.get(wanted.token) ?? 0n) < wanted.amount);
}

async function readVaults(
  pass: HoldingsPass,
  items: readonly Verified[],
  turn: number,
): Promise<Read[]> {
  const pairs = items.flatMap(({ job, tokens }) =>
    tokens.map((token) => ({ vault: job.address, token })),
  );
  const shown = await readGroups(pass, pairs, turn);
  const holdings = await countOnce(
    inTurn(pass, turn),
    pass.memory.holdings.nativeTokens,
    pairs,
    shown,
  );
  return partsOf(holdings, items, ({ tokens }) => tokens.length).map(({ owner, part }) => {
    const balances = new Map<Hex, bigint>([[zeroAddress, coinOf(part)]]);
    // Omits tokens whose contract does not answer, because they can be neither spent nor returned.
    part.forEach(({ balance }, index) => {
      if (balance !== undefined) balances.set(owner.tokens[index]!, balance);
    });
    return { ...owner, vault: { hasCode: part[0]!.codeBytes > 0, balances } };
  });
}

type Decoded = { kind: "verified"; verified: Verified } | { kind: "corrupt"; corrupt: Corrupt };

/** Decodes the job's terms, and verifies that they match its address. */
function decode({ parts }: Pass, job: Job, lookalikes: readonly Hex[]): Decoded {
  const { chain } = parts;
  try {
    const intent = decodeRecord(fromHex(job.address), fromHex(job.terms), parts);
    const token = lowerAddress(intent.token);
    const wanted: Wanted = {
      chainId: intent.chainId,
      token,
      amount: BigInt(intent.amount),
      expirationSeconds: intent.expirationTimestamp,
    };
    const own = intent.chainId === chain.chainId ? [token] : [];
    const tokens = [...new Set([...chain.tokens, ...own, ...lookalikes])];
    const tips = intent.calls.flatMap((call) => tipOf(call) ?? []);
    const { recovery } = intent;
    return { kind: "verified", verified: { job, wanted, recovery, tips, tokens } };
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
    return { kind: "corrupt", corrupt: { job, cause: causeOf(error) } };
  }
}

/** The number of calls in one request. Several calls per request save round trips. */
const groupsMax = 8;

const atHead = (
  { parts, view }: Pass,
  ask: (calls: Call[], isUsable: Usable) => Promise<Answer[][]>,
): AtBlock => ({
  chainId: parts.chain.chainId,
  timestamp: view.head.timestamp,
  ask: (questions, isUsable) =>
    ask(
      questions.map((question) => question(view.at)),
      isUsable,
    ),
});

export type HoldingsMemory = {
  holdings: {
    /** Selects the endpoint that a read starts with. It is incremented with each read. */
    turn: number;
    /**
     * The number of balances per call. It is reduced while endpoints do not answer larger calls.
     */
    perCallMax: number;
    nativeTokens: NativeTokens;
  };
};

export const openHoldingsMemory = (): HoldingsMemory => ({
  holdings: { turn: 0, perCallMax: pairsPerCallMax, nativeTokens: new Map() },
});

type HoldingsPass = Pass<HoldingsMemory>;

/**
 * Returns the answers that a quorum of endpoints agrees on. If no answers have a quorum, `turn`
 * selects the endpoint whose answers are returned.
 */
const inTurn = (pass: Pass, turn: number): AtBlock =>
  atHead(pass, async (calls, isUsable) => [await pass.view.readInTurn(calls, turn, isUsable)]);

/** Returns the answers of a quorum of endpoints, without comparing the answers. */
export const severalInTurn = (pass: Pass, turn: number): AtBlock =>
  atHead(pass, (calls, isUsable) => pass.view.readSeveral(calls, turn, isUsable));

/** Reads balances in groups. If no endpoint answers, the next groups are smaller. */
async function readGroups(
  pass: HoldingsPass,
  pairs: readonly VaultToken[],
  turn: number,
): Promise<Holding[]> {
  const memory = pass.memory.holdings;
  const { perCallMax } = memory;
  const holdings: Holding[] = [];
  for (const some of groupsOf(pairs, groupsMax * perCallMax)) {
    try {
      const [shown] = await readHoldings(inTurn(pass, turn), some, perCallMax);
      holdings.push(...shown!);
    } catch (error) {
      if (error instanceof ChainUnavailable) {
        memory.perCallMax = fewerPairs(perCallMax, some.length);
      }
      throw error;
    }
  }
  memory.perCallMax = morePairs(memory.perCallMax, pairsPerCallMax);
  return holdings;
}

export async function findWithCode(pass: HoldingsPass, vaults: readonly Hex[]): Promise<Set<Hex>> {
  const pairs = vaults.map((vault) => ({ vault, token: zeroAddress }));
  const holdings = await readGroups(pass, pairs, pass.memory.holdings.turn++);
  return new Set(vaults.filter((_, index) => holdings[index]!.codeBytes > 0));
}
