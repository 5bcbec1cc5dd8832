// Runs the observer, which creates events, with a local chain and a real database.

import { after } from "node:test";
import { type AddressRecord, factoryAddress, fromHex, type Hex } from "executable-address";
import { proveEvent, type ServiceEvent } from "executable-address/webhook";
import { parseAbiItem } from "viem";
import { listEvents } from "../events/list.ts";
import { markObservedAbove, markWatches } from "../events/mark.ts";
import { listMoney } from "../events/money.ts";
import { observe } from "../events/observe.ts";
import { forgetPaymentsAbove, saveOwnPayments } from "../events/payments.ts";
import { returnsFinder } from "../executor/client.ts";
import { lowerAddress } from "../flow/lower-address.ts";
import { findAnchor, forgetAnchorsAbove, saveAnchor } from "../follow/anchors.ts";
import type { Payment } from "../follow/payment.ts";
import { keccak } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import type { Dialect } from "../store/tables.ts";
import { observedChainOf } from "./app-on-chain.ts";
import { startWorld, type World } from "./chain/world.ts";
import { openEmptyStore } from "./empty-store.ts";

/**
 * Opens a database and starts a chain. After all tests of the calling file, closes the database and
 * stops the chain.
 */
export async function openEvents(dialect: Dialect) {
  const clock = { nowMs: Date.now() };
  let accounts = 0;
  const faults: string[] = [];
  const enqueued: string[] = [];

  const { store, stop } = await openEmptyStore(dialect);
  after(stop);
  const world = await startWorld();
  after(world.stop);
  const chain = observedChainOf(world);
  const lookalike = lowerAddress(await world.newToken());
  await store.db
    .insertInto("event_chains")
    .values({ chain_id: world.chain.chainId, confirmations: 0 })
    .execute();

  const parts = () => ({
    store,
    factory: factoryAddress,
    keccak,
    findReturns: returnsFinder(store.db, keccak),
    publicUrl: "https://pay.example",
    now: () => clock.nowMs,
    onFault: (address: string) => faults.push(address),
    onEvents: async (_: unknown, events: { id: string }[]) => {
      enqueued.push(...events.map(({ id }) => id));
    },
  });
  /**
   * Saves the newest block as the newest anchor, as the service does after it has read the chain.
   * First deletes all data about blocks that a reorganization removed.
   */
  const follow = async () => {
    const { db } = store;
    for (;;) {
      const anchor = await findAnchor(db, 31_337);
      if (!anchor || (await chain.blockAt(anchor.number))?.hash === anchor.hash) break;
      await forgetAnchorsAbove(db, 31_337, anchor.number - 1);
      await forgetPaymentsAbove(db, 31_337, anchor.number - 1);
      await markObservedAbove(db, 31_337, anchor.number - 1);
    }
    await saveAnchor(db, 31_337, await chain.head());
  };
  const pass = async () => {
    await follow();
    return observe(parts(), chain);
  };
  async function create(record: AddressRecord, accountId = `acc_${++accounts}`) {
    const address = fromHex(record.address);
    const terms = fromHex(record.terms);
    await store.saveRecord({ address, terms, accountId, createdAtMs: clock.nowMs });
    return accountId;
  }
  /** Verifies events against a node. A webhook receiver can do the same with its own node. */
  const factsOf = async (record: AddressRecord, events: readonly ServiceEvent[]) => {
    const options = { rpcs: [world.rpcUrl], confirmations: 0 };
    const facts = events.map((event) => proveEvent(event, record, options));
    return (await Promise.all(facts)).map(({ fact }) => fact);
  };
  return {
    ...{ store, world, chain, lookalike, clock, faults, enqueued, parts, follow, pass, create },
    ...{ factsOf, ...readsOf(store), ...openMarks(store, world, lookalike) },
  };
}

/**
 * Returns functions that imitate the executor. The functions save payments, and mark the paid
 * addresses for the observer (events/mark.ts).
 */
function openMarks(store: Store, world: World, lookalike: Hex) {
  const block = async () => Number(await world.client.getBlockNumber());
  const mark = async (...addresses: Hex[]) => markAt(await block(), addresses);
  const markAt = (number: number, addresses: Hex[]) =>
    store.db
      .transaction()
      .execute((transaction) => markWatches(transaction, 31_337, addresses, number));
  /**
   * Reads the chain's logs since block `from`, and saves the payments to the addresses. Also marks
   * the addresses, so that the observer reads their status.
   */
  const swept = async (addresses: Hex[], from = 0) => {
    const logs = await world.client.getLogs({
      event: parseAbiItem("event Transfer(address indexed, address indexed, uint256)"),
      fromBlock: BigInt(from),
    });
    const found = logs.map(({ args: [payer, to, amount], ...log }): Payment => {
      const { blockHash, transactionHash, logIndex } = log;
      const token = lowerAddress(log.address);
      const place = {
        blockHash,
        transactionHash,
        logIndex,
        blockNumber: Number(log.blockNumber),
      };
      const isLookalike = token === lookalike;
      return { ...place, address: to!, payer: payer!, token, amount: `${amount}`, isLookalike };
    });
    const mine = found
      .map((each) => ({ ...each, address: lowerAddress(each.address) }))
      .filter(({ address }) => addresses.some((one) => one.toLowerCase() === address));
    const number = await block();
    await store.db.transaction().execute(async (transaction) => {
      await markWatches(transaction, 31_337, addresses, number);
      await saveOwnPayments(transaction, 31_337, mine);
    });
    return mine;
  };
  return { block, mark, markAt, swept };
}

function readsOf(store: Store) {
  const events = async (accountId: string): Promise<ServiceEvent[]> => {
    const { rows } = await listEvents(store.db, { accountId, after: 0, limit: 200 });
    return rows.map(({ body }) => JSON.parse(body));
  };
  /** Returns all of the account's events except `address.payment`. */
  const newsOf = async (accountId: string) =>
    (await events(accountId)).filter(({ type }) => type !== "address.payment");
  const payments = async (accountId: string) =>
    (await events(accountId)).flatMap(({ data: { payment } }) => payment ?? []);
  /** Returns the stored payments to an address. */
  const kept = (address: Hex) =>
    store.db
      .selectFrom("payments")
      .select(["log_index", "amount"])
      .where("address", "=", fromHex(address))
      .execute();
  /**
   * Converts each row of `listMoney` to a list. The paid, executed, and returned amounts come
   * first, followed by the numbers of addresses.
   */
  const moved = async (accountId: string) =>
    (await listMoney(store.db, accountId, 0)).map(({ paid, executed, returned, ...row }) => [
      ...[paid, executed, returned],
      ...[row.paidCount, row.executedCount, row.returnedCount],
    ]);
  const types = async (accountId: string) =>
    (await newsOf(accountId)).map(({ type }) => type.replace("address.", ""));
  return { events, newsOf, payments, kept, moved, types };
}
