/**
 * The factor by which to multiply a node's gas estimate for a transaction to the factory. Some
 * nodes estimate only the gas that the transaction uses. The gas limit of the transaction must be
 * higher. A vault reverts if less than a quarter of the gas is left after a call (`TooLittleGas`).
 * The vault therefore needs 4/3 of the gas that the call uses. The factory can pass at most 63/64
 * of its gas to the vault (EIP-150). The factor must therefore be at least 4/3 · 64/63 = 1.354. The
 * factor includes a small reserve, because some calls use more gas than estimated.
 */
export const gasMargin = 1.375;
