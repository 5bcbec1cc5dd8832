// Reads from a receipt what happened to vaults, by the factory's events alone.

import type { Hex } from "executable-address";
import { decodeFactoryEvent } from "executable-address/status";
import { hexData, type Log, parseLog, quantity, unlike } from "../../chain/rpc/json-rpc.ts";
import { explainRevert } from "../../chain/simulation/revert.ts";
import type { VaultOutcome } from "../ledger/settlements.ts";
import { dataFeePaid } from "../money/data-fee.ts";

export type Receipt = {
  transactionHash: Hex;
  blockHash: Hex;
  blockNumber: number;
  succeeded: boolean;
  gasUsed: number;
  /** In wei: gas used times what it cost, and the fee for bytes where the chain has one. */
  paid: bigint;
  logs: Log[];
};

/** @throws {ChainUnavailable} when it is not a receipt; null is undefined: not mined there */
export function receiptOf(value: unknown): Receipt | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object") throw unlike("a receipt", value);
  const receipt = value as Record<string, unknown>;
  if (!Array.isArray(receipt.logs)) throw unlike("logs of a receipt", receipt.logs);
  const gasUsed = quantity(receipt.gasUsed);
  return {
    transactionHash: hexData(receipt.transactionHash),
    blockHash: hexData(receipt.blockHash),
    blockNumber: Number(quantity(receipt.blockNumber)),
    succeeded: quantity(receipt.status) === 1n,
    gasUsed: Number(gasUsed),
    paid: gasUsed * quantity(receipt.effectiveGasPrice ?? "0x0") + dataFeePaid(receipt),
    logs: receipt.logs.map(parseLog),
  };
}

/** A transaction as it was sent: its sender, and the vaults of a batch's items. All lower case. */
export type SentBatch = { sender: Hex; vaults: readonly Hex[] };

/**
 * @param factory lower case. Events of other contracts are ignored, and so is `ItemFailed` of a
 *   batch that a target sent of its own.
 */
export function outcomesOf(receipt: Receipt, factory: Hex, sent: SentBatch): VaultOutcome[] {
  return receipt.logs
    .filter((log) => log.address === factory)
    .flatMap((log) => outcomeOf(log, sent) ?? []);
}

function outcomeOf(log: Log, { sender, vaults }: SentBatch): VaultOutcome | undefined {
  const event = decodeFactoryEvent(log);
  if (!event) return undefined;
  if (event.name === "ItemFailed") {
    const vault = vaults[event.index];
    if (event.caller !== sender || !vault) return undefined;
    return { kind: "failed", vault, reason: explainRevert(event.reason) };
  }
  const { vault, token } = event;
  if (event.name === "Executed") {
    return { kind: "executed", vault, token, amount: event.held, left: event.left };
  }
  if (event.name === "Recovered") return { kind: "recovered", vault, token, amount: event.amount };
  return { kind: "recovery_failed", vault, token, reason: explainRevert(event.reason) };
}
