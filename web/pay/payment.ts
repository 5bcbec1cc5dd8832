// How a payment is asked for: as a link and a QR code, and as calldata for a wallet.

import type { AddressRecord, Hex } from "executable-address";

/**
 * A transfer of `amount` to the address, as wallets read it: ERC-681.
 *
 * @param amount base units, decimal
 */
export function paymentLink({ address, intent }: AddressRecord, amount: string): string {
  return `ethereum:${intent.token}@${intent.chainId}/transfer?address=${address}&uint256=${amount}`;
}

/** Calldata of the token's `transfer(address to, uint256 amount)`. */
export function transferCalldata(to: Hex, amount: string): Hex {
  const word = (hex: string) => hex.padStart(64, "0");
  const amountHex = BigInt(amount).toString(16);
  return `0xa9059cbb${word(to.slice(2).toLowerCase())}${word(amountHex)}`;
}

/** What is still to be paid: nothing once it is enough. */
export function owed(amount: string, balance: string): string {
  const left = BigInt(amount) - BigInt(balance);
  return (left > 0n ? left : 0n).toString();
}
