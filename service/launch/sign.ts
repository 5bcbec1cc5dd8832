// Signs the versions of a launch's transactions: the first version, and later versions with higher
// fees. Stores each version in the journal before it is sent.

import type { Hex } from "executable-address";
import { privateKeyToAccount } from "viem/accounts";
import { formatGwei, keccak256, parseTransaction } from "viem/utils";
import type { ChainRpc } from "../chain/rpc/chain-rpc.ts";
import { type Block, quantity } from "../chain/rpc/json-rpc.ts";
import { bumpFee, type Fee, type FeePolicy, suggestFee } from "../executor/money/fees.ts";
import { min } from "../flow/numbers.ts";
import { describeSent, type Journal, type Sent, signedFor } from "./journal.ts";

export type Signing = {
  key: Hex;
  journal: Journal;
  /** Sends a request to the first endpoint, or to the next one if the first fails. */
  request: ChainRpc["request"];
  fees: FeePolicy;
  report: (line: string) => void;
};

/**
 * Stores a transaction. If the fee exceeds the maximum, signs the transaction again with a lower
 * fee.
 */
export async function storeNew(signing: Signing, raw: Hex): Promise<Sent> {
  const { journal, fees } = signing;
  const { nonce = 0, type } = parseTransaction(raw);
  const { maxFee, priorityFee } = feeOf(raw);
  const perGasMax = fees.perGasMax;
  if (type === "eip1559" && maxFee > perGasMax) {
    const priority = min(priorityFee, perGasMax);
    return signStored(signing, raw, { maxFee: perGasMax, priorityFee: priority });
  }
  const sent = { hash: keccak256(raw), raw, nonce, mined: null };
  await journal.save({ sent: [...journal.state.sent, sent] });
  return sent;
}

/** The maximum number of versions of a transaction that are signed. */
const signaturesMax = 10;
/**
 * The maximum fee as a multiple of the first fee. There is a limit because endpoints can return
 * wrong base fees.
 */
const raiseFactorMax = 10n;

/** Signs a transaction again with a higher fee, or returns why this is not possible. */
export async function raise(
  signing: Signing,
  sent: Sent,
  { baseFee }: Block,
): Promise<Sent | string> {
  const { journal, request, fees, report } = signing;
  const own = signedFor(journal.state, sent.nonce);
  const { gas = 0n, value = 0n } = parseTransaction(sent.raw);
  const old = feeOf(sent.raw);
  const lowest = own.map(({ raw }) => feeOf(raw).maxFee).reduce(min);
  const highest = lowest * raiseFactorMax;
  const policy = { ...fees, perGasMax: min(highest, fees.perGasMax) };
  const suggested = quantity(await request("eth_maxPriorityFeePerGas", []).catch(() => "0x0"));
  const fee = bumpFee(old, suggestFee(baseFee, suggested, policy).fee, baseFee, policy);
  const gwei = (wei: bigint) => `${formatGwei(wei)} gwei`;
  if (!fee || own.length >= signaturesMax) {
    return (
      `offers ${gwei(old.maxFee)} per gas, the base fee is ${gwei(baseFee)}, and the highest ` +
      `allowed fee is ${gwei(policy.perGasMax)}: the transaction waits until the base fee falls`
    );
  }
  const has = quantity(await request("eth_getBalance", [journal.state.wallet, "latest"]));
  const needs = gas * fee.maxFee + value;
  if (has < needs) {
    return `needs ${needs} wei at ${gwei(fee.maxFee)} per gas, but the wallet has ${has} wei`;
  }
  const raised = await signStored(signing, sent.raw, fee);
  report(
    `raised the fee from ${gwei(old.maxFee)} to ${gwei(fee.maxFee)}: ${describeSent(raised)} ` +
      `replaces ${sent.hash}`,
  );
  return raised;
}

export function feeOf(raw: Hex): Fee {
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = parseTransaction(raw);
  return { maxFee: maxFeePerGas, priorityFee: maxPriorityFeePerGas };
}

/** Signs a transaction again with another fee, and stores the new version. */
async function signStored({ key, journal }: Signing, raw: Hex, fee: Fee): Promise<Sent> {
  const { chainId, nonce = 0, to, data, gas, value } = parseTransaction(raw);
  const signed = await privateKeyToAccount(key).signTransaction({
    ...{ type: "eip1559", chainId: chainId!, nonce, gas, value, to, data },
    ...{ maxFeePerGas: fee.maxFee, maxPriorityFeePerGas: fee.priorityFee },
  });
  const sent = { hash: keccak256(signed), raw: signed, nonce, mined: null };
  await journal.save({ sent: [...journal.state.sent, sent] });
  return sent;
}
