// The export of all records, and the operations that set and search references.

import { ensureReferenceKeys, rotateReferenceKey } from "../../../accounts/reference-keys.ts";
import { findListed } from "../../../events/list-addresses.ts";
import { findCreated, findNewestSeq } from "../../../store/find-records.ts";
import { findByReference } from "../../../store/owners.ts";
import type { NewRecord } from "../../../store/store.ts";
import { accounts } from "../account.ts";
import { actor, type Operations, someAddresses, type World } from "./world.ts";

export function references({ store, nowMs, crowd }: World): Operations {
  const { db } = store;
  const crowded = someAddresses(crowd);
  const name = async (address: Uint8Array, how: Partial<NewRecord>) => {
    const terms = (await store.findTerms(address))!;
    const owned = { address, terms, accountId: accounts.many, createdAtMs: nowMs };
    return store.saveRecord({ ...owned, reference: "same", ...how });
  };
  return {
    "references: set many references simultaneously": () =>
      Promise.all(crowded.map((address) => name(address, { isAgain: true }))),
    "references: find an address, set references, and rotate the key": async () => {
      const [address] = someAddresses(1);
      await findByReference(db, accounts.many, "same");
      await findListed(db, { accountId: accounts.many, address: Buffer.from(address!), nowMs });
      for (const isClientId of [false, true]) await name(address!, { isClientId });
      await ensureReferenceKeys(db, accounts.many, nowMs);
      await rotateReferenceKey(db, accounts.many, actor);
    },
    "export: find one page of records": async () => {
      await findCreated(db, 0, 500);
      await findNewestSeq(db);
    },
  };
}
