// The operations that list and find rows for the dashboard and the API. The pages have the maximum
// size.

import { findEvent, listEvents } from "../../../events/list.ts";
import { type AddressQuery, listAddresses } from "../../../events/list-addresses.ts";
import { countRequested, listMoney, readPace } from "../../../events/money.ts";
import { accounts, addressOf, began } from "../account.ts";
import { none, type Operations, someAddresses, type World } from "./world.ts";

/** The name of the search that reads the most rows. */
export const longestSearch = "list: no address has the token";

export function lists({ store, size, nowMs, crowd }: World): Operations {
  const { db } = store;
  const crowded = someAddresses(crowd);
  const listed = (query: Partial<AddressQuery>) => () =>
    listAddresses(db, { accountId: accounts.many, order: "newest", limit: 100, nowMs, ...query });
  const middle = began + (size / 2) * 1000;
  const cursor = { atMs: middle, address: none };
  const later = { accountId: accounts.later };
  return {
    "dashboard: find addresses by a range": listed({
      addresses: { from: none, to: Buffer.alloc(20, 0xef) },
    }),
    "dashboard: find one address": listed({ addresses: { from: addressOf(3), to: addressOf(3) } }),
    "dashboard: find one address that another account created first": listed({
      addresses: { from: addressOf(3), to: addressOf(3) },
      ...later,
    }),
    "list: newest first, all created by another account first": listed(later),
    "list: newest first, with large rows": listed({ accountId: accounts.large }),
    "list: newest first": listed({}),
    "list: oldest first, from the middle": listed({ order: "oldest", cursor }),
    "list: addresses in a state": listed({ state: "executed", cursor }),
    "list: no address is in the state": listed({ state: "recovered" }),
    "list: no address is unfunded": listed({ state: "unfunded", cursor }),
    "list: addresses with a reference": listed({ reference: "same", cursor }),
    "list: no address has the claimed reference": listed({ claimedReference: "same", cursor }),
    "list: no address was created with the credential": listed({ createdBy: "client_id" }),
    "list: no address with the reference has the token": listed({ reference: "same", token: none }),
    "list: no reference contains the text": listed({ referenceContains: "none" }),
    [longestSearch]: listed({ token: none }),
    "list: no address has the token, with large rows": listed({
      token: none,
      accountId: accounts.large,
    }),
    "list: no address has the token, all created by another account first": listed({
      token: none,
      ...later,
    }),
    "list: no address in the state is on the chain": listed({ chainId: 7, state: "executed" }),
    "list: addresses created in a time range": listed({
      createdFromMs: middle,
      createdUntilMs: middle + 10 ** 6,
    }),
    "list: addresses settled in a time range": listed({
      settledFromMs: middle,
      settledUntilMs: middle + 10 ** 8,
    }),
    "list: no settled address has the token": listed({ settledFromMs: began, token: none }),
    "page: find the terms of 100 addresses": () =>
      Promise.all(someAddresses(100).map((each) => store.findTerms(each))),
    "lookups: find the terms of many addresses simultaneously": () =>
      Promise.all(crowded.map((each) => store.findTerms(each))),
    "events: list from the middle": () =>
      listEvents(db, { accountId: accounts.many, after: size / 2, limit: 101 }),
    "events: list by type": () =>
      listEvents(db, {
        ...{ accountId: accounts.many, after: 0, limit: 101 },
        types: ["address.reverted"],
      }),
    "events: find one event": () => findEvent(db, accounts.many, "evt_none"),
    "events: list, with large rows": () =>
      listEvents(db, { accountId: accounts.large, after: 0, limit: 101 }),
    "money: add the requested amounts": () => countRequested(db, accounts.many, nowMs),
    "money: list 92 days of 30 tokens": () => listMoney(db, accounts.many, 0),
    "money: read the median times to payment and execution": () => readPace(db, accounts.many),
  };
}
