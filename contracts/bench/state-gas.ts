// Computes the gas of a transaction under EIP-8037, which charges new state by the byte. The
// computation starts from a transaction under Prague's rules. The local chains do not support the
// Amsterdam upgrade with EIP-8037 yet. Other prices that the same fork may change (EIP-8038,
// EIP-7976) are not considered.

import type { Address, Hex } from "viem";
import type { Chain } from "../testing/local-chain.ts";

/**
 * EIP-8037: the gas for each byte of new state, and the bytes charged for an account and for a
 * slot.
 */
const gasPerByte = 1530;
const accountBytes = 120;
const slotBytes = 64;

/** Before EIP-8037: the gas for CREATE2, for each byte of code, and for a new slot. */
const today = { create: 32_000, codeByte: 200, slot: 20_000 };
/** EIP-8037: the additional gas for CREATE2, for each 32-byte word of code, and for a new slot. */
const work = { create: 9_000, codeWord: 6, slot: 2_900 };

type Account = { code?: Hex; nonce?: number; storage?: Record<Hex, Hex> };
type Diff = { pre: Record<Address, Account>; post: Record<Address, Account> };

/**
 * Returns how much more gas the transaction `hash` would cost under EIP-8037 than under Prague's
 * rules.
 */
export async function stateGas(chain: Chain, hash: Hex): Promise<number> {
  const { pre, post } = await chain.client.request<{ Parameters: unknown[]; ReturnType: Diff }>({
    method: "debug_traceTransaction",
    params: [hash, { tracer: "prestateTracer", tracerConfig: { diffMode: true } }],
  } as never);
  let more = 0;
  for (const [address, after] of Object.entries(post) as [Address, Account][]) {
    const before = pre[address];
    const codeBytes = before?.code === undefined ? ((after.code?.length ?? 2) - 2) / 2 : 0;
    if (!before) more += accountBytes * gasPerByte + work.create - today.create;
    more += codeBytes * (gasPerByte - today.codeByte) + Math.ceil(codeBytes / 32) * work.codeWord;
    const slots = Object.keys(after.storage ?? {}).filter((key) => !before?.storage?.[key as Hex]);
    more += slots.length * (slotBytes * gasPerByte + work.slot - today.slot);
  }
  return more;
}
