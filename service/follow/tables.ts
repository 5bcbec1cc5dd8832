// The table of anchors. An anchor is a block up to which a chain was read.

import { sql } from "kysely";
import type { TableStatement } from "../store/tables.ts";

declare module "../store/tables.ts" {
  interface Tables {
    /** The newest anchors of each chain, up to `storedAnchorsMax` (anchors.ts). */
    anchors: { chain_id: number; number: number; hash: string };
  }
}

export const statements = (): TableStatement[] => [
  sql`create table anchors (chain_id bigint not null, number bigint not null,
      hash text not null, primary key (chain_id, number))`,
];
