// The factory as its interface promises it, on a state of plain maps: what calldata does.

import type { Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import {
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  toFunctionSelector,
} from "viem";
import { nativeCoin } from "../../jobs/calldata.ts";
import type { Log } from "../../transactions/receipt.ts";

/** How the calls of an intent behave: `poison` passes every simulation and fails on chain. */
export type Behaviour = "runs" | "reverts" | "mends" | "poison";

export type VaultModel = {
  address: Hex;
  terms: Hex;
  token: Hex;
  amount: bigint;
  expirationSeconds: number;
  recovery: Hex;
  chainId: number;
  behaviour: Behaviour;
  /** From when on a `mends` call runs. */
  mendsAtSeconds: number;
};

export type State = {
  nonce: number;
  code: Set<Hex>;
  /** By token, then owner. */
  balances: Map<Hex, Map<Hex, bigint>>;
};

/** `onlyAsked`: a simulation, in which poison shows nothing. */
export type Env = {
  chainId: number;
  timestamp: number;
  onlyAsked: boolean;
  factory: Hex;
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
  return { nonce: state.nonce, code: new Set(state.code), balances };
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

/** Terms named by calldata, and what is asked for them. @throws on what no factory knows */
export function parseCalldata(data: Hex): { name: string; terms: Hex[]; tokens: Hex[] } {
  const name = selectors[data.slice(0, 10)] ?? "unknown";
  const body = data.slice(10);
  const word = (byte: number) => Number(BigInt(`0x${body.slice(2 * byte, 2 * byte + 64)}`));
  const asTerms = (from: number, to: number): Hex =>
    `0x${"20".padStart(64, "0")}${body.slice(2 * from, 2 * to)}`;
  if (name === "execute") return { name, terms: [`0x${body}`], tokens: [] };
  if (name === "executeBatch") {
    const count = word(32);
    const starts = Array.from({ length: count }, (_, i) => 64 + word(64 + 32 * i));
    const ends = [...starts.slice(1), body.length / 2];
    return { name, terms: starts.map((start, i) => asTerms(start, ends[i]!)), tokens: [] };
  }
  if (name !== "recover") throw new Error(`unknown calldata ${data.slice(0, 10)}`);
  const list = word(32);
  const tokens = Array.from({ length: word(list) }, (_, i): Hex => {
    const at = 2 * (list + 32 + 32 * i);
    return `0x${body.slice(at + 24, at + 64)}`;
  });
  return { name, terms: [asTerms(word(0), list)], tokens };
}

/** Runs one execution on `state`, or throws and leaves it as it was. */
export function execute(state: State, vault: VaultModel, env: Env): Log {
  const { address, token, amount } = vault;
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
    (vault.behaviour === "mends" && env.timestamp < vault.mendsAtSeconds) ||
    (vault.behaviour === "poison" && !env.onlyAsked);
  if (fails) {
    const args = [0n, env.shop, "0x"];
    throw new Revert(
      encodeErrorResult({ abi: paymentFactoryAbi, errorName: "CallFailed", args } as never),
    );
  }
  state.code.add(address);
  move(state, token, address, env.shop, amount);
  return eventOf(env, "Executed", { vault: address, token }, [held, held - amount]);
}

/** Closes or sweeps a vault. @throws where it is still open */
export function recover(state: State, vault: VaultModel, tokens: Hex[], env: Env): Log[] {
  const isOpen = vault.chainId === env.chainId && env.timestamp <= vault.expirationSeconds;
  if (!state.code.has(vault.address) && isOpen) {
    const args = [vault.address, 1n, 2n];
    throw new Revert(
      encodeErrorResult({ abi: paymentFactoryAbi, errorName: "NotRecoverable", args } as never),
    );
  }
  state.code.add(vault.address);
  return tokens.flatMap((token) => {
    const held = balanceOf(state, token, vault.address);
    if (held === 0n || token === nativeCoin) return [];
    move(state, token, vault.address, vault.recovery, held);
    return [eventOf(env, "Recovered", { vault: vault.address, token }, [held])];
  });
}

export function executionFailed(env: Env, vault: Hex, reason: Hex): Log {
  const topics = encodeEventTopics({
    abi: paymentFactoryAbi,
    eventName: "ExecutionFailed",
    args: { vault },
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
