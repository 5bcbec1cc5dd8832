// Lists and finds rows as the dashboard and the API do, with the largest pages.

import { findEvent, listEvents } from "../../../events/list.ts";
import { type AddressQuery, listAddresses } from "../../../events/list-addresses.ts";
import { countAsked, listMoney, readPace } from "../../../events/money.ts";
import { accounts, addressOf, began } from "../account.ts";
import { none, type Operations, someAddresses, type World } from "./world.ts";

export function lists({ store, size, nowMs, crowd }: World): Operations {
  const { db } = store;
  const crowded = someAddresses(crowd);
  const listed = (query: Partial<AddressQuery>) => () =>
    listAddresses(db, { accountId: accounts.many, order: "newest", limit: 100, nowMs, ...query });
  const middle = began + (size / 2) * 1000;
  const cursor = { atMs: middle, address: none };
  const later = { accountId: accounts.later };
  return {
    "dashboard: an address's beginning": listed({
      addresses: { from: none, to: Buffer.alloc(20, 0xef) },
    }),
    "dashboard: one address": listed({ addresses: { from: addressOf(3), to: addressOf(3) } }),
    "dashboard: one address, created by another before": listed({
      addresses: { from: addressOf(3), to: addressOf(3) },
      ...later,
    }),
    "list: newest, created by another before": listed(later),
    "list: newest, largest": listed({ accountId: accounts.large }),
    "list: newest": listed({}),
    "list: from the middle, oldest first": listed({ order: "oldest", cursor }),
    "list: by state": listed({ state: "executed", cursor }),
    "list: a state none is in": listed({ state: "recovered" }),
    "list: unfunded, which none is": listed({ state: "unfunded", cursor }),
    "list: by reference": listed({ reference: "same", cursor }),
    "list: by a claim none has": listed({ claimedReference: "same", cursor }),
    "list: by credential, which none is": listed({ createdBy: "client_id" }),
    "list: a reference with a token none has": listed({ reference: "same", token: none }),
    "list: a part that no reference has": listed({ referenceContains: "none" }),
    "list: a token none has": listed({ token: none }),
    "list: a token none has, largest": listed({ token: none, accountId: accounts.large }),
    "list: a token none has, created by another before": listed({ token: none, ...later }),
    "list: a chain none is on, in a state": listed({ chainId: 7, state: "executed" }),
    "list: created in a span": listed({ createdFrom: middle, createdUntil: middle + 10 ** 6 }),
    "list: settled in a span": listed({ settledFrom: middle, settledUntil: middle + 10 ** 8 }),
    "list: settled, of a token none has": listed({ settledFrom: began, token: none }),
    "page: terms": () => Promise.all(someAddresses(100).map((each) => store.findTerms(each))),
    "look-ups: very many at once": () => Promise.all(crowded.map((each) => store.findTerms(each))),
    "events: from the middle": () =>
      listEvents(db, { accountId: accounts.many, after: size / 2, limit: 101 }),
    "events: of a type": () =>
      listEvents(db, {
        ...{ accountId: accounts.many, after: 0, limit: 101 },
        types: ["address.reverted"],
      }),
    "events: one": () => findEvent(db, accounts.many, "evt_none"),
    "events: largest": () => listEvents(db, { accountId: accounts.large, after: 0, limit: 101 }),
    "money: count what was asked": () => countAsked(db, accounts.many, nowMs),
    "money: 92 days of 30 tokens": () => listMoney(db, accounts.many, 0),
    "money: how soon addresses are paid": () => readPace(db, accounts.many),
  };
}
