// A chain small enough to see through: blocks with the state after each, a pool, and reorgs.

import type { Hex } from "executable-address";
import { hexToString, keccak256, stringToHex } from "viem";
import type { Block as ToldBlock } from "../../../chain/rpc/json-rpc.ts";
import { type Log, transferTopic } from "../../../chain/rpc/log.ts";
import type { UnsignedTransaction } from "../../parts.ts";
import {
  batch,
  cloneState,
  type Env,
  execute,
  move,
  parseCalldata,
  Revert,
  recover,
  type State,
  type VaultModel,
} from "./factory-model.ts";

type Sent = UnsignedTransaction & { from: Hex };
export type PoolTransaction = Sent & { hash: Hex };

/** A key of the pool. */
export const slotOf = ({ from, nonce }: Pick<Sent, "from" | "nonce">) => `${from} ${nonce}`;
export const nonceOf = ({ nonces }: State, from: Hex): number => nonces.get(from) ?? 0;

/** What others do: pay a vault, or execute one themselves. */
export type Deed =
  | { kind: "pay"; token: Hex; to: Hex; amount: bigint; onlyOnce: boolean }
  | { kind: "execute"; vault: VaultModel };

/** Wei per gas that a transaction pays in a block of that base fee. */
export const priceOf = ({ maxFee, priorityFee }: PoolTransaction, baseFee: bigint): bigint =>
  maxFee < baseFee + priorityFee ? maxFee : baseFee + priorityFee;

export type Mined = {
  transaction: PoolTransaction;
  succeeded: boolean;
  logs: Log[];
  /** Vaults whose execution failed because they were over. */
  wasted: Hex[];
  gasUsed: number;
};

/** What a node tells of it, and what happened in it. */
export type Block = ToldBlock & {
  mined: Mined[];
  deeds: Deed[];
  logs: Log[];
  state: State;
};

const perBlockMax = 3;
/** What an execution or a recovery takes, and a transfer. */
export const itemGas = 100_000;
const transferGas = 21_000;

export type ChainModel = ReturnType<typeof createChainModel>;

/**
 * `confirmations`: blocks on top after which nobody expects to see a block undone.
 * `rangeBlocksMax`: blocks whose logs a node gives in one call.
 */
type Setting = Pick<Env, "chainId" | "factory" | "shop"> & {
  /** They have coin for gas. */
  senders: readonly Hex[];
  startSeconds: number;
  confirmations: number;
  rangeBlocksMax?: number;
};

export function createChainModel(setting: Setting, vaults: ReadonlyMap<Hex, VaultModel>) {
  const byTerms = new Map([...vaults.values()].map((vault) => [vault.terms, vault]));
  const blocks: Block[] = [genesisAt(setting.startSeconds)];
  const pool = new Map<string, PoolTransaction>();
  const lost = new Set<Hex>();
  let deeds: Deed[] = [];
  let forks = 0;
  let highest = 0;
  let wasDeep = false;
  const envAt = (timestamp: number, onlyAsked: boolean): Env => ({
    ...setting,
    sender: setting.senders[0]!,
    timestamp,
    onlyAsked,
  });

  return {
    blocks,
    pool,
    /** Vaults to which a payment was undone for good. */
    lost,
    /** A block was undone that had been final. */
    wasDeep: () => wasDeep,
    setting,
    byTerms,
    envAt,
    submit: (raw: Hex) => submit(pool, blocks.at(-1)!.state, raw),
    add: (deed: Deed) => deeds.push(deed),

    mine(timestamp: number, baseFee: bigint) {
      const env = envAt(timestamp, false);
      blocks.push(nextBlock(blocks.at(-1)!, { deeds, pool, byTerms, env, baseFee, forks }));
      deeds = [];
      highest = Math.max(highest, blocks.length - 1);
    },

    /** Undoes the newest blocks. What was in them goes back to the pools, but for what is lost. */
    reorg(depth: number, isLost: () => boolean) {
      const undone = blocks.splice(Math.max(1, blocks.length - depth));
      forks++;
      if (undone[0] && highest - undone[0].number >= setting.confirmations) wasDeep = true;
      for (const block of undone) {
        for (const { transaction } of block.mined) {
          if (!isLost()) pool.set(slotOf(transaction), transaction);
        }
        for (const deed of block.deeds) {
          if (deed.kind === "pay" && deed.onlyOnce && isLost()) lost.add(deed.to);
          else deeds.push(deed);
        }
      }
    },
  };
}

function genesisAt(timestamp: number): Block {
  return {
    number: 0,
    hash: keccak256("0x00"),
    parentHash: keccak256("0x"),
    timestamp,
    baseFee: 10n,
    gasLimit: 30_000_000n,
    mined: [],
    deeds: [],
    logs: [],
    state: { nonces: new Map(), code: new Map(), balances: new Map() },
  };
}

type Filling = {
  deeds: Deed[];
  /** Taken from as they are mined. */
  pool: Map<string, PoolTransaction>;
  byTerms: ReadonlyMap<Hex, VaultModel>;
  env: Env;
  baseFee: bigint;
  /** How often the chain has forked, so that hashes differ. */
  forks: number;
};

/** Mines what others do first, then ours, by key and nonce, as long as they pay the base fee. */
function nextBlock(parent: Block, { deeds, pool, byTerms, env, baseFee, forks }: Filling): Block {
  const state = cloneState(parent.state);
  const logs = deeds.flatMap((deed) => doDeed(state, deed, env));
  const mined: Mined[] = [];
  for (const from of new Set([...pool.values()].map((each) => each.from))) {
    while (mined.length < perBlockMax) {
      const slot = slotOf({ from, nonce: nonceOf(state, from) });
      const transaction = pool.get(slot);
      if (!transaction || transaction.maxFee < baseFee) break;
      pool.delete(slot);
      state.nonces.set(from, transaction.nonce + 1);
      const result = runTransaction(state, transaction, byTerms, { ...env, sender: from });
      mined.push({ transaction, ...result });
      logs.push(...result.logs);
    }
  }
  const number = parent.number + 1;
  const hash = keccak256(stringToHex(`${parent.hash}:${number}:${forks}`));
  const { timestamp } = env;
  const { gasLimit } = parent;
  return {
    number,
    hash,
    parentHash: parent.hash,
    timestamp,
    baseFee,
    gasLimit,
    mined,
    deeds,
    logs,
    state,
  };
}

/** As nodes do: a replacement must raise both fees by a tenth. @returns why not, or nothing */
function submit(pool: Map<string, PoolTransaction>, state: State, raw: Hex): string | undefined {
  const transaction = decodeRaw(raw);
  if (transaction.nonce < nonceOf(state, transaction.from)) return "nonce too low";
  const old = pool.get(slotOf(transaction));
  if (old?.hash === transaction.hash) return "already known";
  const raises = (a: bigint, b: bigint) => a * 10n >= b * 11n;
  const isBetter =
    !old ||
    (raises(transaction.maxFee, old.maxFee) && raises(transaction.priorityFee, old.priorityFee));
  if (!isBetter) return "replacement transaction underpriced";
  pool.set(slotOf(transaction), transaction);
  return undefined;
}

export function encodeRaw(transaction: Sent): Hex {
  const plain = (_key: string, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value;
  return stringToHex(JSON.stringify(transaction, plain));
}

function decodeRaw(raw: Hex): PoolTransaction {
  const plain = JSON.parse(hexToString(raw));
  return {
    ...plain,
    maxFee: BigInt(plain.maxFee),
    priorityFee: BigInt(plain.priorityFee),
    hash: keccak256(raw),
  };
}

function doDeed(state: State, deed: Deed, env: Env): Log[] {
  if (deed.kind === "pay") {
    move(state, deed.token, undefined, deed.to, deed.amount);
    return [transferLog(deed.token, env.shop, deed.to, deed.amount)];
  }
  try {
    return [execute(state, deed.vault, env)];
  } catch {
    return [];
  }
}

function runTransaction(
  state: State,
  transaction: PoolTransaction,
  byTerms: ReadonlyMap<Hex, VaultModel>,
  env: Env,
): Omit<Mined, "transaction"> {
  if (transaction.to !== env.factory) {
    return { succeeded: true, logs: [], wasted: [], gasUsed: transferGas };
  }
  const { isBatch, items } = parseCalldata(transaction.data);
  const gasUsed = Math.min(transaction.gas, itemGas * items.length);
  const vaults = items.map(({ terms }) => byTerms.get(terms)!);
  const over = new Set(vaults.flatMap(({ address }) => (state.code.has(address) ? address : [])));
  /** An execution of what is over, or a recovery of it that returned nothing. */
  const wastedBy = (logs: readonly Log[]) => {
    const told = new Set(logs.map(({ topics }) => topics[1]));
    return vaults.flatMap(({ address }, index) => {
      const isTold = items[index]!.name === "recover" && told.has(wordOf(address));
      return over.has(address) && !isTold ? [address] : [];
    });
  };
  const done = (logs: Log[]) => ({ succeeded: true, logs, wasted: wastedBy(logs), gasUsed });
  const failed = { succeeded: false, logs: [], wasted: wastedBy([]), gasUsed };
  if (transaction.gas < itemGas * items.length) return failed;
  if (isBatch) return done(batch(state, items, (terms) => byTerms.get(terms)!, env));
  const { name, tokens } = items[0]!;
  try {
    if (name === "recover") return done(recover(state, vaults[0]!, tokens, env));
    return done([execute(state, vaults[0]!, env)]);
  } catch (error) {
    if (!(error instanceof Revert)) throw error;
    return failed;
  }
}

const wordOf = (address: Hex): Hex => `0x${address.slice(2).padStart(64, "0")}`;

function transferLog(token: Hex, from: Hex, to: Hex, amount: bigint): Log {
  const data: Hex = `0x${amount.toString(16).padStart(64, "0")}`;
  return { address: token, topics: [transferTopic, wordOf(from), wordOf(to)], data };
}
