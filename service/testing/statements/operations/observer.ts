// The operations that mark addresses for the observer, and that create events.

import { type Hex, toHex } from "executable-address";
import { pino } from "pino";
import { openHeads } from "../../../chain/rpc/heads.ts";
import { openStatusReader } from "../../../chain/status/reader.ts";
import { nothingKnown } from "../../../events/changes.ts";
import { listConfirmations, setConfirmations } from "../../../events/confirmations.ts";
import {
  endMarks,
  findDueElsewhere,
  isAwaitedElsewhere,
  isElsewhereDue,
  markElsewhere,
  markObservedAbove,
  markWatches,
  postponeMarks,
} from "../../../events/mark.ts";
import { startObserver } from "../../../events/observe.ts";
import { readPayments, readPaymentsElsewhere } from "../../../events/payments.ts";
import {
  findDue,
  mayBeDue,
  postponeWatches,
  saveObservations,
  type Watch,
} from "../../../events/watches.ts";
import { findAnchor, saveAnchor } from "../../../follow/anchors.ts";
import { openChainLoop } from "../../../follow/loop.ts";
import { keccak } from "../../../store/record.ts";
import type { Store } from "../../../store/store.ts";
import { enqueue } from "../../../webhooks/deliveries/enqueue.ts";
import { accounts, chains, sender } from "../account.ts";
import { hexOf, type Operations, someAddresses, statusOf, type World } from "./world.ts";

export function observer({ store, nowMs, crowd }: World): Operations {
  const { db } = store;
  const crowded = someAddresses(crowd);
  const hexes = hexOf(crowded);
  const due = (chainId: number) => () => findDue(db, chainId, 10, nowMs, 300);
  const mark = (addresses: Hex[], block: number) =>
    db.transaction().execute((tx) => markWatches(tx, chains.many, addresses, block));
  const observed = async (change: object) => {
    const watches = await due(chains.many)();
    const observations = watches.map((watch: Watch) => ({
      watch: { ...watch, known: nothingKnown },
      status: statusOf(toHex(watch.address), change),
      paid: { payments: [], isSwept: true, lateBlocks: new Set<number>() },
      moves: { payments: [], returns: [] },
      readAgainAtMs: 1,
    }));
    const anchor = (await findAnchor(db, chains.many))!;
    await saveObservations(db, observations, {
      ...{ chainId: chains.many, anchor, publicUrl: "https://x.example", nowMs },
      onEvents: enqueue,
    });
  };
  return {
    "observer: find watches that are due": due(chains.many),
    "observer: find watches that are due, with large rows": due(chains.large),
    "observer: save 300 observations": () => observed({}),
    "observer: postpone 300 watches that could not be read": async () => {
      const watches = await due(chains.many)();
      await postponeWatches(
        db,
        watches.map((watch) => ({ watch, readAgainAtMs: 1 })),
      );
    },
    "observer: mark many paid addresses": () => mark(hexes, 20),
    "observer: check whether any watch may be due": async () => {
      await mayBeDue(db, chains.many, nowMs);
      await mayBeDue(db, 9, nowMs);
    },
    "observer: read the payments to many addresses": () =>
      readPayments(db, chains.many, crowded, keccak),
    "observer: make all watches above a block due": () => markObservedAbove(db, chains.many, 199),
    "observer: set, list, and reset confirmations": async () => {
      await setConfirmations(db, accounts.many, 1, 3);
      await listConfirmations(db, accounts.many);
      await setConfirmations(db, accounts.many, 1, null);
    },
    "observer: mark, find, postpone, and end reports about a different chain": async () => {
      await db
        .insertInto("event_chains")
        .values({ chain_id: chains.large, confirmations: 1 })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      await saveAnchor(db, chains.large, { number: 30, hash: `0x${"30".repeat(32)}` });
      await db.transaction().execute((tx) => markElsewhere(tx, chains.large, hexes, 20));
      await isElsewhereDue(db, chains.many);
      await isAwaitedElsewhere(db, chains.large);
      await readPaymentsElsewhere(db, chains.many, crowded, keccak);
      const marks = await findDueElsewhere(db, chains.many, 1_000);
      await postponeMarks(db, marks.slice(0, 50), 60_000);
      await db.transaction().execute((tx) => endMarks(tx, marks.slice(50, 100)));
      const later = marks.slice(100, 150).map((mark) => ({ ...mark, upTo: 1 }));
      await db.transaction().execute((tx) => endMarks(tx, later));
    },
    "observer: run one pass": () => observerPass(store),
  };
}

/** Runs the observer until its first request to the chain. This request fails. */
async function observerPass(store: Store): Promise<void> {
  const chain = {
    chainId: chains.many,
    name: "",
    rpcUrls: [],
    tokens: [],
    confirmations: 1,
  } as never;
  let asked = () => {};
  const isRequested = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const request = async () => {
    asked();
    throw new Error("away");
  };
  const rpc = { request, heads: openHeads(request, Date.now) };
  const observer = startObserver({
    store,
    factory: sender,
    keccak: () => new Uint8Array(32),
    publicUrl: "https://x.example",
    now: Date.now,
    findReturns: async () => [],
    onEvents: async () => {},
    chains: { known: [chain], rpcOf: () => rpc },
    statusReader: () =>
      openStatusReader({ chainId: chains.many, factory: sender, rpc, tokens: [] }),
    chainLoop: () => openChainLoop(rpc.heads, 1),
    log: pino({ level: "silent" }),
  });
  await isRequested;
  await observer.stop();
}
