// A small model of a chain, with blocks, their states, a transaction pool, and reorgs.

import type { Hex } from "executable-address";
import { hexToString, keccak256, stringToHex } from "viem";
import type { Log, Block as RpcBlock } from "../../../chain/rpc/json-rpc.ts";
import type { UnsignedTransaction } from "../../pass.ts";
import {
  batch,
  cloneState,
  type Env,
  execute,
  gasOfItem,
  type Item,
  move,
  parseCalldata,
  Revert,
  recover,
  type State,
  transferLog,
  type VaultModel,
  wordOf,
} from "./factory-model.ts";

type Sent = UnsignedTransaction & { from: Hex };
export type PoolTransaction = Sent & { hash: Hex };

/** Returns the map key of a transaction in the pool. */
export const slotOf = ({ from, nonce }: Pick<Sent, "from" | "nonce">) => `${from} ${nonce}`;
export const nonceOf = ({ nonces }: State, from: Hex): number => nonces.get(from) ?? 0;

/** A payment, or an execution by an account that is not the executor's. */
export type Deed =
  | { kind: "pay"; token: Hex; to: Hex; amount: bigint; onlyOnce: boolean }
  | { kind: "execute"; vault: VaultModel };

/** Returns the price per gas in wei that a transaction pays in a block. */
export const priceOf = ({ maxFee, priorityFee }: PoolTransaction, baseFee: bigint): bigint =>
  maxFee < baseFee + priorityFee ? maxFee : baseFee + priorityFee;

export type Mined = {
  transaction: PoolTransaction;
  succeeded: boolean;
  logs: Log[];
  /** Addresses at which the transaction had no effect, because they were already closed. */
  wasted: Hex[];
  gasUsed: number;
  /**
   * The gas that each of the factory's calls used. The factory makes one call per item, except for
   * executions of already executed addresses.
   */
  callGas: number[];
  /** The fee for the transaction's bytes, in wei. */
  dataFee: bigint;
};

/** Returns the amount that the sender paid for a transaction, in wei. */
export const paidFor = ({ transaction, gasUsed, dataFee }: Mined, baseFee: bigint): bigint =>
  BigInt(gasUsed) * priceOf(transaction, baseFee) + dataFee;

/** A block as a node returns it, with its transactions and actions. */
export type Block = RpcBlock & {
  mined: Mined[];
  deeds: Deed[];
  logs: Log[];
  state: State;
};

const perBlockMax = 3;
const transferGas = 21_000;

/** Properties in which chains and their nodes differ. */
export type Rules = {
  /** The gas limit of a block. */
  gasLimit: bigint;
  /** The fee per byte of calldata on the OP Stack, in wei; 0 for other chains. */
  weiPerByte: bigint;
  /** Whether nodes support debug_traceTransaction. */
  isTraced: boolean;
  /** The maximum number of logs per query. */
  logsMax: number;
  /** The initial balances of keys, in wei. Other keys have a very high balance. */
  coins: ReadonlyMap<Hex, bigint>;
};

export const plainRules: Rules = {
  gasLimit: 30_000_000n,
  weiPerByte: 0n,
  isTraced: false,
  logsMax: Number.POSITIVE_INFINITY,
  coins: new Map(),
};
const plenty = 10n ** 24n;

export type ChainModel = ReturnType<typeof createChainModel>;

/**
 * A block is final after `confirmations` more blocks. A log query can have up to `rangeBlocksMax`
 * blocks.
 */
type Setting = Pick<Env, "chainId" | "factory" | "shop"> & {
  senders: readonly Hex[];
  startSeconds: number;
  confirmations: number;
  rangeBlocksMax?: number;
  rules?: Rules | undefined;
};

export function createChainModel(setting: Setting, vaults: ReadonlyMap<Hex, VaultModel>) {
  const { rules = plainRules } = setting;
  const byTerms = new Map([...vaults.values()].map((vault) => [vault.terms, vault]));
  const blocks: Block[] = [genesisOf(setting, rules)];
  const pool = new Map<string, PoolTransaction>();
  const lost = new Set<Hex>();
  let deeds: Deed[] = [];
  let forks = 0;
  let highest = 0;
  let wasDeep = false;
  const envAt = (timestamp: number, isSimulation: boolean): Env => ({
    ...setting,
    sender: setting.senders[0]!,
    timestamp,
    isSimulation,
  });

  return {
    blocks,
    pool,
    /** Addresses whose payment was removed by a reorganization and was not mined again. */
    lost,
    /** Returns whether a reorganization has removed a final block. */
    wasDeep: () => wasDeep,
    setting,
    rules,
    byTerms,
    envAt,
    submit: (raw: Hex) => submit(pool, blocks.at(-1)!.state, rules, raw),
    add: (deed: Deed) => deeds.push(deed),

    mine(timestamp: number, baseFee: bigint) {
      const env = envAt(timestamp, false);
      const filling = { deeds, pool, byTerms, env, baseFee, forks, rules };
      blocks.push(nextBlock(blocks.at(-1)!, filling));
      deeds = [];
      highest = Math.max(highest, blocks.length - 1);
    },

    /**
     * Removes the newest blocks. A transaction in a removed block returns to the pool unless
     * `isLost` returns true.
     */
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

function genesisOf({ startSeconds, senders }: Setting, { gasLimit, coins }: Rules): Block {
  const all = new Map(senders.map((key) => [key, coins.get(key) ?? plenty]));
  return {
    number: 0,
    hash: keccak256("0x00"),
    parentHash: keccak256("0x"),
    timestamp: startSeconds,
    baseFee: 10n,
    gasLimit,
    mined: [],
    deeds: [],
    logs: [],
    state: { nonces: new Map(), code: new Map(), balances: new Map(), coins: all },
  };
}

type Filling = {
  deeds: Deed[];
  /** The pending transactions. Mined transactions are removed. */
  pool: Map<string, PoolTransaction>;
  byTerms: ReadonlyMap<Hex, VaultModel>;
  env: Env;
  baseFee: bigint;
  /**
   * The number of reorganizations so far. Block hashes depend on this number, so that a replacement
   * block has a new hash.
   */
  forks: number;
  rules: Rules;
};

/**
 * Mines a block. The block contains the actions of other accounts, and then the executor's
 * transactions, sorted by key and nonce. Transactions that offer less than the base fee are not
 * mined.
 */
function nextBlock(parent: Block, filling: Filling): Block {
  const { deeds, pool, byTerms, env, baseFee, forks, rules } = filling;
  const state = cloneState(parent.state);
  const logs = deeds.flatMap((deed) => doDeed(state, deed, env));
  const mined: Mined[] = [];
  for (const from of new Set([...pool.values()].map((each) => each.from))) {
    while (mined.length < perBlockMax) {
      const slot = slotOf({ from, nonce: nonceOf(state, from) });
      const transaction = pool.get(slot);
      if (!transaction || transaction.maxFee < baseFee) break;
      const coins = state.coins.get(from)!;
      if (coins < costMaxOf(transaction, rules)) break;
      pool.delete(slot);
      state.nonces.set(from, transaction.nonce + 1);
      const result = runTransaction(state, transaction, byTerms, { ...env, sender: from });
      const entry = { transaction, ...result, dataFee: parseDataFee(transaction, rules) };
      state.coins.set(from, coins - paidFor(entry, baseFee));
      mined.push(entry);
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

const parseDataFee = ({ data }: Sent, { weiPerByte }: Rules): bigint =>
  BigInt(data.length / 2) * weiPerByte;

const costMaxOf = (transaction: PoolTransaction, rules: Rules): bigint =>
  BigInt(transaction.gas) * transaction.maxFee + parseDataFee(transaction, rules);

/**
 * Adds a transaction to the pool if a node would accept it. For example, a replacement must raise
 * both fees by a tenth. The key's balance must cover all its transactions in the pool.
 * @returns the reason if the transaction is refused; otherwise undefined
 */
function submit(
  pool: Map<string, PoolTransaction>,
  state: State,
  rules: Rules,
  raw: Hex,
): string | undefined {
  const transaction = decodeRaw(raw);
  const { from, nonce } = transaction;
  if (nonce < nonceOf(state, from)) return "nonce too low";
  const old = pool.get(slotOf(transaction));
  if (old?.hash === transaction.hash) return "already known";
  if (transaction.gas > rules.gasLimit) return "exceeds block gas limit";
  const others = [...pool.values()].filter((each) => each.from === from && each.nonce !== nonce);
  const spoken = others.reduce((sum, each) => sum + costMaxOf(each, rules), 0n);
  if (spoken + costMaxOf(transaction, rules) > state.coins.get(from)!) {
    return "insufficient funds for gas * price + value";
  }
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

export function decodeRaw(raw: Hex): PoolTransaction {
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
    return execute(state, deed.vault, { ...env, sender: env.shop });
  } catch {
    return [];
  }
}

function runTransaction(
  state: State,
  transaction: PoolTransaction,
  byTerms: ReadonlyMap<Hex, VaultModel>,
  env: Env,
): Omit<Mined, "transaction" | "dataFee"> {
  if (transaction.to !== env.factory) {
    return { succeeded: true, logs: [], wasted: [], gasUsed: transferGas, callGas: [] };
  }
  const { isBatch, items } = parseCalldata(transaction.data);
  const vaults = items.map(({ terms }) => byTerms.get(terms)!);
  const gases = items.map((item, index) => gasOfItem(item, vaults[index]!));
  const gasNeeded = gases.reduce((sum, gas) => sum + gas, 0);
  const over = new Set(vaults.flatMap(({ address }) => (state.code.has(address) ? address : [])));
  const isSkipped = ({ name }: Item, { address }: VaultModel) =>
    name === "execute" && state.code.get(address) === "executed";
  const callGas = gases.filter((_, index) => !isSkipped(items[index]!, vaults[index]!));
  /**
   * Returns the addresses at which the transaction had no effect. These addresses were already
   * closed, and the transaction recovered no money from them.
   */
  const wastedBy = (logs: readonly Log[]) => {
    const logged = new Set(logs.map(({ topics }) => topics[1]));
    return vaults.flatMap(({ address }, index) => {
      const isLogged = items[index]!.name === "recover" && logged.has(wordOf(address));
      return over.has(address) && !isLogged ? [address] : [];
    });
  };
  const gasUsed = Math.min(transaction.gas, gasNeeded);
  const done = (logs: Log[]) => {
    return { succeeded: true, logs, wasted: wastedBy(logs), gasUsed, callGas };
  };
  const failed = { succeeded: false, logs: [], wasted: wastedBy([]), gasUsed, callGas: [] };
  if (transaction.gas < gasNeeded) return failed;
  if (isBatch) return done(batch(state, items, (terms) => byTerms.get(terms)!, env));
  const { name, tokens } = items[0]!;
  try {
    if (name === "recover") return done(recover(state, vaults[0]!, tokens, env));
    return done(execute(state, vaults[0]!, env));
  } catch (error) {
    if (!(error instanceof Revert)) throw error;
    return failed;
  }
}
