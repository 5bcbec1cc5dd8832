import type { ReactNode } from "react";
import { useSpeech } from "../words/speech.ts";

type Column<Row> = {
  head: string;
  cell: (row: Row) => ReactNode;
  /** Hides the column on narrow screens, where a row has space for only a few cells. */
  isWide?: boolean;
};
type TableProps<Row> = {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
};

/**
 * A table. On narrow screens, each row has two lines. The roles are explicit because
 * `display: grid` removes a table's implicit roles.
 */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  const { say } = useSpeech();
  return (
    // biome-ignore-start lint/a11y/noRedundantRoles: see above
    <table role="table" className="table">
      <caption className="sr-only">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head }) => (
            <th key={head} role="columnheader" scope="col">
              {head === "" ? <span className="sr-only">{say("actions")}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ head, cell, isWide }) => (
              <td key={head} role="cell" data-label={head} className={isWide ? "wide" : ""}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
    // biome-ignore-end lint/a11y/noRedundantRoles: see above
  );
}
