// Stores the progress of a launch in a file, which is called the journal. The same command can then
// continue an interrupted launch. Each signed transaction is stored before it is sent. The intent
// is stored before its address is shown.

import type { Hex, Intent } from "executable-address";
import { deterministicDeployer, factoryAddress, periphery } from "executable-address-contracts";
import { create2Address } from "executable-address-contracts/deploy";
import { parseTransaction, sliceHex } from "viem/utils";
import type { Receipt } from "../executor/transactions/receipt.ts";
import { readNote, writeNote } from "../records/note.ts";

/**
 * `raw` is the signed transaction. `wei` is its cost including the transferred value, as a decimal
 * number.
 */
export type Sent = {
  hash: Hex;
  raw: Hex;
  nonce: number;
  mined: { block: number; succeeded: boolean; wei: string } | null;
};

/** The steps that a launch on one chain has completed. */
export type LaunchState = {
  chainId: number;
  wallet: Hex;
  sent: Sent[];
  /**
   * Signed transactions that were not mined, because a transaction in `sent` used the same nonce. A
   * reorganization that removes the mined transaction can make these transactions valid again.
   */
  replaced?: Sent[];
  intent?: Intent;
  /** The saved address, and the account that owns it. */
  saved?: { address: Hex; accountId: string };
  /** The file to which the receipt was written. */
  receipt?: string;
};

export type Journal = {
  state: LaunchState;
  save(change: Partial<LaunchState>): Promise<void>;
};

/**
 * Reads the journal from `file`, or starts a new journal if the file does not exist.
 *
 * @throws an error if the file belongs to another launch
 */
export async function openJournal(
  file: string,
  { chainId, wallet }: { chainId: number; wallet: Hex },
): Promise<Journal> {
  const fresh: LaunchState = { chainId, wallet, sent: [] };
  const journal = {
    state: await readNote(file, fresh),
    async save(change: Partial<LaunchState>) {
      journal.state = { ...journal.state, ...change };
      await writeNote(file, journal.state);
    },
  };
  const { state } = journal;
  if (state.wallet !== wallet || state.chainId !== chainId) {
    throw new Error(
      `${file} belongs to a launch on chain ${state.chainId} by the wallet ${state.wallet}, but ` +
        `this launch is on chain ${chainId} by the wallet ${wallet}: use the same chain and key, ` +
        "or move the file to start again",
    );
  }
  return journal;
}

/**
 * Replaces a stored transaction with the result of `change`, or removes it if the result is null.
 */
export async function changeSent(
  journal: Journal,
  hash: Hex,
  change: (sent: Sent) => Sent | null,
): Promise<void> {
  const sent = journal.state.sent.flatMap((each) =>
    each.hash === hash ? (change(each) ?? []) : [each],
  );
  await journal.save({ sent });
}

/** Returns every transaction that was signed with this nonce, except refused transactions. */
export const signedFor = ({ sent, replaced = [] }: LaunchState, nonce: number): Sent[] =>
  [...replaced, ...sent].filter((each) => each.nonce === nonce);

/**
 * Adds the receipt's block, outcome, and cost to a stored transaction, and returns the transaction.
 * Moves all other transactions with the same nonce to `replaced`.
 */
export async function noteReceipt(
  journal: Journal,
  { hash, raw, nonce }: Sent,
  { blockNumber, succeeded, paid }: Receipt,
): Promise<Sent> {
  const { value = 0n } = parseTransaction(raw);
  const wei = paid + (succeeded ? value : 0n);
  const mined = { hash, raw, nonce, mined: { block: blockNumber, succeeded, wei: `${wei}` } };
  const { sent, replaced = [] } = journal.state;
  const others = signedFor(journal.state, nonce).filter((each) => each.hash !== hash);
  const place = sent.findIndex((each) => each.nonce === nonce);
  await journal.save({
    sent: sent.with(place, mined).filter((each, index) => each.nonce !== nonce || index === place),
    ...(others.length > 0 && {
      replaced: [
        ...replaced.filter((each) => each.nonce !== nonce),
        ...others.map((each) => ({ ...each, mined: null })),
      ],
    }),
  });
  return mined;
}

/** Returns the total cost of all mined transactions, in wei. */
export const spentWei = ({ sent }: LaunchState): bigint =>
  sent.reduce((sum, { mined }) => sum + BigInt(mined?.wei ?? 0), 0n);

/** Returns whether a mined transaction with this calldata succeeded. */
export const hasSucceeded = ({ sent }: LaunchState, data: Hex): boolean =>
  sent.some(({ raw, mined }) => mined?.succeeded && parseTransaction(raw).data === data);

/**
 * Returns whether two signed transactions have the same effect, even if their nonces and fees
 * differ.
 */
export function hasSameEffect(one: Hex, other: Hex): boolean {
  const [a, b] = [parseTransaction(one), parseTransaction(other)];
  return a.to === b.to && a.data === b.data && (a.value ?? 0n) === (b.value ?? 0n);
}

/** If the transaction calls the deterministic deployer, returns the address of the new contract. */
function createdBy(raw: Hex): Hex | undefined {
  const { to, data } = parseTransaction(raw);
  if (to?.toLowerCase() !== deterministicDeployer.address.toLowerCase() || !data) return undefined;
  return create2Address(sliceHex(data, 32), sliceHex(data, 0, 32));
}

/**
 * Returns the address of the contract that the transaction creates or calls. If there is no code at
 * this address, the transaction had no effect. Returns undefined for a plain transfer.
 */
export const codeAfter = (raw: Hex): Hex | undefined => {
  const { to, data } = parseTransaction(raw);
  return data ? (createdBy(raw) ?? to ?? undefined) : undefined;
};

/** Describes a transaction for the operator, for example "0x12… (factory, nonce 3)". */
export function describeSent({ hash, raw, nonce }: Sent): string {
  const created = createdBy(raw);
  const contracts = { factory: { address: factoryAddress }, ...periphery };
  const [name] = Object.entries(contracts).find(([, { address }]) => address === created) ?? [];
  const step = name ?? (codeAfter(raw) ? "execution" : "the deployer's funding");
  return `${hash} (${step}, nonce ${nonce})`;
}
