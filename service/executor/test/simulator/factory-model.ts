// A model of the factory contract. It applies calldata to a `State`, which consists of maps.

import { type Hex, type Tip, zeroAddress } from "executable-address";
import { transferTopic } from "executable-address/status";
import { paymentFactoryAbi } from "executable-address-contracts";
import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  toFunctionSelector,
} from "viem";
import type { Log } from "../../../chain/rpc/json-rpc.ts";

/**
 * How the calls of an intent behave. `mends`: the calls revert until a certain time. `poison`: the
 * calls succeed in simulations and fail on chain. `heavy`: the calls burn all their gas, and their
 * simulation takes long.
 */
export type Behaviour = "runs" | "reverts" | "mends" | "poison" | "heavy";

export type VaultModel = {
  address: Hex;
  terms: Hex;
  token: Hex;
  amount: bigint;
  expirationSeconds: number;
  recovery: Hex;
  chainId: number;
  behaviour: Behaviour;
  /** The time from which calls with the behavior `mends` succeed. */
  mendsAtSeconds: number;
  /** The gas that an execution uses on chain, which may differ from its estimate. */
  gas: number;
  /** The tip for the sender of the execution, in base units of the intent's token. */
  tip?: Tip;
};

/**
 * The gas that a recovery uses. In this model, nodes also return this number as the gas estimate
 * for each execution.
 */
export const itemGas = 100_000;

export const gasOfItem = ({ name }: Pick<Item, "name">, { gas }: VaultModel): number =>
  name === "execute" ? gas : itemGas;

export type State = {
  /** Nonces by sender. The default is 0. */
  nonces: Map<Hex, number>;
  /** How each address was closed. */
  code: Map<Hex, "executed" | "closed">;
  /** Balances by token, and then by owner. */
  balances: Map<Hex, Map<Hex, bigint>>;
  /** Balances of native coin in wei, by owner. */
  coins: Map<Hex, bigint>;
};

/**
 * `isSimulation` is true if the call is only simulated. In a simulation, `poison` calls do not
 * fail. `sender` is the transaction's sender.
 */
export type Env = {
  chainId: number;
  timestamp: number;
  isSimulation: boolean;
  factory: Hex;
  sender: Hex;
  shop: Hex;
};

export class Revert extends Error {
  readonly data: Hex;
  constructor(data: Hex) {
    super("execution reverted");
    this.data = data;
  }
}

const selectors = Object.fromEntries(
  paymentFactoryAbi
    .filter((item) => item.type === "function")
    .map((item) => [toFunctionSelector(item), item.name]),
);

export function cloneState(state: State): State {
  const balances = new Map([...state.balances].map(([token, owners]) => [token, new Map(owners)]));
  const { nonces, code, coins } = state;
  return { nonces: new Map(nonces), code: new Map(code), balances, coins: new Map(coins) };
}

export function balanceOf(state: State, token: Hex, owner: Hex): bigint {
  return state.balances.get(token)?.get(owner) ?? 0n;
}

export function move(state: State, token: Hex, from: Hex | undefined, to: Hex, amount: bigint) {
  const owners = state.balances.get(token) ?? new Map<Hex, bigint>();
  state.balances.set(token, owners);
  if (from) owners.set(from, (owners.get(from) ?? 0n) - amount);
  owners.set(to, (owners.get(to) ?? 0n) + amount);
}

/** An item in a call to the factory. Only a `batch` call can have several items. */
export type Item = { name: "execute" | "recover"; terms: Hex; tokens: Hex[] };

/** @throws if the factory does not have the function */
export function parseCalldata(data: Hex): { isBatch: boolean; items: Item[] } {
  if (selectors[data.slice(0, 10)] !== "batch") return { isBatch: false, items: [parseItem(data)] };
  const { args } = decodeFunctionData({ abi: paymentFactoryAbi, data });
  return { isBatch: true, items: (args as [Hex[]])[0].map(parseItem) };
}

function parseItem(data: Hex): Item {
  const name = selectors[data.slice(0, 10)];
  const body = data.slice(10);
  if (name === "execute") return { name, terms: `0x${body}`, tokens: [] };
  if (name !== "recover") throw new Error(`unknown calldata ${data.slice(0, 10)}`);
  const word = (byte: number) => Number(BigInt(`0x${body.slice(2 * byte, 2 * byte + 64)}`));
  const list = word(32);
  const tokens = Array.from({ length: word(list) }, (_, i): Hex => {
    const at = 2 * (list + 32 + 32 * i);
    return `0x${body.slice(at + 24, at + 64)}`;
  });
  const terms: Hex = `0x${"20".padStart(64, "0")}${body.slice(2 * word(0), 2 * list)}`;
  return { name, terms, tokens };
}

/** Executes an address. Throws without changing the state if the execution fails. */
export function execute(state: State, vault: VaultModel, env: Env): Log[] {
  const { address, token, amount, tip } = vault;
  const refuse = (
    errorName: "AlreadyOver" | "WrongChain" | "Expired" | "Underfunded",
    args: unknown,
  ) => new Revert(encodeErrorResult({ abi: paymentFactoryAbi, errorName, args } as never));
  if (state.code.has(address)) throw refuse("AlreadyOver", [address]);
  if (vault.chainId !== env.chainId) throw refuse("WrongChain", [1n, 2n]);
  if (env.timestamp > vault.expirationSeconds) throw refuse("Expired", [1n, 2n]);
  const held = balanceOf(state, token, address);
  if (held < amount) throw refuse("Underfunded", [address, amount, held]);
  const fails =
    vault.behaviour === "reverts" ||
    vault.behaviour === "heavy" ||
    (vault.behaviour === "mends" && env.timestamp < vault.mendsAtSeconds) ||
    (vault.behaviour === "poison" && !env.isSimulation);
  if (fails) {
    const args = [0n, env.shop, "0x"];
    throw new Revert(
      encodeErrorResult({ abi: paymentFactoryAbi, errorName: "CallFailed", args } as never),
    );
  }
  state.code.set(address, "executed");
  move(state, token, address, env.shop, amount - (tip?.amount ?? 0n));
  const logs = [eventOf(env, "Executed", { vault: address, token }, [held, held - amount])];
  if (!tip) return logs;
  move(state, token, address, env.sender, tip.amount);
  return [...logs, transferLog(token, address, env.sender, tip.amount)];
}

/**
 * Recovers the tokens at an address, which closes it.
 *
 * @throws if the address is still open
 */
export function recover(state: State, vault: VaultModel, tokens: Hex[], env: Env): Log[] {
  const isOpen = vault.chainId === env.chainId && env.timestamp <= vault.expirationSeconds;
  if (!state.code.has(vault.address) && isOpen) {
    const args = [vault.address, 1n, 2n];
    throw new Revert(
      encodeErrorResult({ abi: paymentFactoryAbi, errorName: "NotRecoverable", args } as never),
    );
  }
  if (!state.code.has(vault.address)) state.code.set(vault.address, "closed");
  return tokens.flatMap((token) => {
    const held = balanceOf(state, token, vault.address);
    if (held === 0n || token === zeroAddress) return [];
    move(state, token, vault.address, vault.recovery, held);
    return [eventOf(env, "Recovered", { vault: vault.address, token }, [held])];
  });
}

/**
 * Runs each item independently. A second execution of an address has no effect and is not a
 * failure.
 */
export function batch(
  state: State,
  items: readonly Item[],
  vaultOf: (terms: Hex) => VaultModel,
  env: Env,
): Log[] {
  return items.flatMap(({ name, terms, tokens }, index) => {
    const vault = vaultOf(terms);
    if (name === "execute" && state.code.get(vault.address) === "executed") return [];
    try {
      return name === "execute" ? execute(state, vault, env) : recover(state, vault, tokens, env);
    } catch (error) {
      if (!(error instanceof Revert)) throw error;
      return [itemFailed(env, index, error.data)];
    }
  });
}

export const wordOf = (address: Hex): Hex => `0x${address.slice(2).padStart(64, "0")}`;

export function transferLog(token: Hex, from: Hex, to: Hex, amount: bigint): Log {
  const data: Hex = `0x${amount.toString(16).padStart(64, "0")}`;
  return { address: token, topics: [transferTopic, wordOf(from), wordOf(to)], data };
}

function itemFailed(env: Env, index: number, reason: Hex): Log {
  const topics = encodeEventTopics({
    abi: paymentFactoryAbi,
    eventName: "ItemFailed",
    args: { caller: env.sender, index: BigInt(index) },
  }) as Hex[];
  return { address: env.factory, topics, data: encodeAbiParameters([{ type: "bytes" }], [reason]) };
}

function eventOf(
  env: Env,
  eventName: "Executed" | "Recovered",
  args: { vault: Hex; token: Hex },
  values: bigint[],
): Log {
  const topics = encodeEventTopics({ abi: paymentFactoryAbi, eventName, args }) as Hex[];
  const data = encodeAbiParameters(
    values.map(() => ({ type: "uint256" })),
    values,
  );
  return { address: env.factory, topics, data };
}
