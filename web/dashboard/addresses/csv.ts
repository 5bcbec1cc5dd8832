// Exports the list of addresses as CSV. The browser loads all pages of the list and formats the
// rows.

import type { AddressPage, ListedAddress } from "executable-address/client";
import { formatUnits } from "executable-address-element/page";
import { findToken } from "../../shown/reading.ts";
import type { Chain } from "../api.ts";
import { findChain } from "../money.ts";
import { type AddressFilter, addresses } from "./api.ts";

/**
 * The maximum number of rows. Spreadsheet programs can open a file of this size easily. Larger
 * exports must use the API.
 */
export const csvRowsMax = 10_000;

const columns = [
  ...[
    "address",
    "reference",
    "claimed reference",
    "created",
    "expires",
    "chain id",
    "chain",
    "token",
    "symbol",
  ],
  ...["amount", "base units", "state last seen", "settled", "transaction"],
];

/** @returns the content of the file, and whether there are more rows */
export async function exportCsv(
  filter: AddressFilter,
  chains: readonly Chain[],
): Promise<{ text: string; isCut: boolean }> {
  const rows: ListedAddress[] = [];
  let cursor: string | null = null;
  do {
    const page: AddressPage = await addresses.export(filter, cursor);
    rows.push(...page.items);
    cursor = page.next;
  } while (cursor !== null && rows.length < csvRowsMax);
  return { text: formatCsv(rows.slice(0, csvRowsMax), chains), isCut: cursor !== null };
}

/** Formats rows as CSV (RFC 4180) with a header row. */
export function formatCsv(rows: readonly ListedAddress[], chains: readonly Chain[]): string {
  const lines = rows.map((row) => {
    const token = findToken(row, chains, row.token);
    return [
      row.address,
      row.reference ?? "",
      row.claimedReference ?? "",
      row.createdAt,
      new Date(row.expirationTimestamp * 1000).toISOString(),
      `${row.chainId}`,
      findChain(row, chains)?.name ?? "",
      row.token,
      token?.symbol ?? "",
      token ? formatUnits(row.requestedAmount, token.decimals).replaceAll(/[^\d.]/g, "") : "",
      row.requestedAmount,
      row.state,
      row.settledAt ?? "",
      row.transactionHash ?? "",
    ];
  });
  return [columns, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

/** Quotes a cell that a spreadsheet program would run as a formula. */
function cell(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
