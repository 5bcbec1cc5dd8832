// Names addresses, looks for names, and exports all records.

import { findReferenceKeys, rotateReferenceKey } from "../../../accounts/reference-keys.ts";
import { findListed } from "../../../events/list-addresses.ts";
import { findHolder, referenceWriter } from "../../../events/references.ts";
import { findCreated, findNewestSeq } from "../../../store/created.ts";
import { isOwned } from "../../../store/owned.ts";
import { accounts } from "../account.ts";
import { actor, type Operations, someAddresses, type World } from "./world.ts";

export function references({ store, nowMs, crowd }: World): Operations {
  const { db } = store;
  const write = referenceWriter(store);
  const crowded = someAddresses(crowd);
  return {
    "references: very many at once": () =>
      Promise.all(
        crowded.map((address) =>
          write({
            ...{ accountId: accounts.many, address, reference: "same" },
            ...{ isClientId: false, isAgain: true },
          }),
        ),
      ),
    "references: who has one, and what is the account's": async () => {
      const [address] = someAddresses(1);
      const named = { accountId: accounts.many, reference: "same", isClientId: false };
      await findHolder(db, named);
      await isOwned(db, accounts.many, address!);
      await findListed(db, { accountId: accounts.many, address: Buffer.from(address!), nowMs });
      for (const isClientId of [false, true]) {
        await write({ ...named, address: address!, isClientId, isAgain: false });
      }
      await findReferenceKeys(db, accounts.many, nowMs);
      await rotateReferenceKey(db, accounts.many, actor);
    },
    "export: a page": async () => {
      await findCreated(db, 0, 500);
      await findNewestSeq(db);
    },
  };
}
