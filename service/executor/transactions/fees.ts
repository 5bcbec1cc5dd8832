// What to offer for a transaction, EIP-1559. All in wei per gas.

export type Fee = { maxFee: bigint; priorityFee: bigint };

/** `perGasMax` is never exceeded, whatever it delays. */
export type FeePolicy = { perGasMax: bigint; priorityMin: bigint };

/** Twice the base fee outlasts six full blocks, each of which raises it by an eighth. */
const baseFeeHeadroom = 2n;

/** @returns the offer, and what it takes now at least: over the cap, the transaction must wait */
export function suggestFee(
  baseFee: bigint,
  priorityAsked: bigint,
  policy: FeePolicy,
): { fee: Fee; neededPerGas: bigint } {
  const priority = priorityAsked > policy.priorityMin ? priorityAsked : policy.priorityMin;
  const maxFee = min(baseFee * baseFeeHeadroom + priority, policy.perGasMax);
  return { fee: { maxFee, priorityFee: min(priority, maxFee) }, neededPerGas: baseFee + priority };
}

/**
 * The least that may take the place of `old` at its nonce, or what is asked now if that is more.
 * Nodes refuse a replacement that does not raise both fields by a tenth (geth) or an eighth.
 *
 * @returns undefined where that is over the cap
 */
export function bumpFee(old: Fee, suggested: Fee, policy: FeePolicy): Fee | undefined {
  const maxFee = max(raised(old.maxFee), suggested.maxFee);
  const priorityFee = max(raised(old.priorityFee), suggested.priorityFee);
  if (maxFee > policy.perGasMax) return undefined;
  return { maxFee, priorityFee: min(priorityFee, maxFee) };
}

/** 12.5 % more, rounded up, and by one at least. */
function raised(value: bigint): bigint {
  return value + max((value + 7n) / 8n, 1n);
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
