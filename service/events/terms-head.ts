// The words of terms that every intent has at the same place (spec/terms.md): 0x20 ‖ token ‖ amount
// ‖ … ‖ salt ‖ chainId. Lists read them where they lie, so that a page fetches 256 bytes of each
// record and not up to 24,576; nothing that moves money or proves an address is read this way.

import { sql } from "kysely";

type Sql = ReturnType<typeof sql>;

/** In SQL: the 256 bytes that the functions below read. @param terms a column */
export const termsHead = (terms: Sql) => sql`substr(${terms}, 1, 256)`;

/** 20 bytes. */
export const tokenOf = (head: Buffer) => head.subarray(44, 64);
export const amountOf = (head: Buffer) => BigInt(`0x${head.subarray(64, 96).toString("hex")}`);
/** Unix seconds. */
export const expirationOf = (head: Buffer) => Number(head.readBigUInt64BE(152));
export const chainIdOf = (head: Buffer) => Number(head.readBigUInt64BE(248));

/** In SQL: the same as {@link tokenOf}. @param terms a column */
export const tokenIn = (terms: Sql) => sql`substr(${terms}, 45, 20)`;

/** In SQL: whether {@link chainIdOf} is `chainId`. @param terms a column */
export function isOfChain(terms: Sql, chainId: number): Sql {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(chainId));
  return sql`substr(${terms}, 249, 8) = ${bytes}`;
}
