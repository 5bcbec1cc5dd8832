// Everything that the running service asks of its database, each at its worst: filters that nothing
// meets, the greatest pages, accounts that have most. statements.test.ts counts what is left out.

import { randomBytes } from "node:crypto";
import { type Hex, toHex } from "executable-address";
import type { AddressStatus } from "executable-address/status";
import { pino } from "pino";
import { createAccount, findAccount, findCredentials } from "../../accounts/account.ts";
import { addApiKey, rotateApiKey, wholeKey } from "../../accounts/api-keys.ts";
import { listAudit } from "../../accounts/audit.ts";
import { rotateClientId } from "../../accounts/client-ids.ts";
import { confirmName, findName } from "../../accounts/names.ts";
import { openAccounts } from "../../accounts/open.ts";
import {
  addOrigin,
  listOrigins,
  removeOrigin,
  setOrigins,
} from "../../accounts/origins/origin-list.ts";
import { findReferenceKeys, rotateReferenceKey } from "../../accounts/reference-keys.ts";
import { endSession, listSessions } from "../../accounts/sessions.ts";
import { listUsage } from "../../accounts/usage.ts";
import { openHeads } from "../../chain/rpc/heads.ts";
import { nothingKnown } from "../../events/changes.ts";
import { listConfirmations, setConfirmations } from "../../events/confirmations.ts";
import { eventsKeptMs, findEvent, listEvents } from "../../events/list.ts";
import { type AddressQuery, findListed, listAddresses } from "../../events/list-addresses.ts";
import { markObservedAbove, markWatches } from "../../events/mark.ts";
import { countAsked, listMoney } from "../../events/money.ts";
import { readPace } from "../../events/pace.ts";
import { readPayments } from "../../events/payments.ts";
import { prune } from "../../events/prune.ts";
import { findHolder, findReferences, isOwned, referenceWriter } from "../../events/references.ts";
import { startObserver } from "../../events/start.ts";
import {
  findDue,
  mayBeDue,
  postponeWatches,
  saveObservations,
  type Watch,
} from "../../events/watches.ts";
import { openDesk } from "../../executor/desk/desk.ts";
import { dropJob } from "../../executor/ledger/jobs.ts";
import type { Fence } from "../../executor/ledger/lease.ts";
import { openLedger } from "../../executor/ledger/ledger.ts";
import { findAnchor } from "../../follow/anchors.ts";
import { findCreated, findNewestSeq } from "../../store/created.ts";
import { keccak } from "../../store/keccak.ts";
import type { Store } from "../../store/store.ts";
import { claim, findDueEndpoints } from "../../webhooks/deliveries/claim.ts";
import { enqueue, replay, sendTest } from "../../webhooks/deliveries/enqueue.ts";
import { finish } from "../../webhooks/deliveries/finish.ts";
import { listDeliveries, pruneDeliveries } from "../../webhooks/deliveries/list.ts";
import {
  addEndpoint,
  findEndpoint,
  removeEndpoint,
  rotateSecret,
  setPaused,
} from "../../webhooks/endpoints.ts";
import { readSigningKeys, rotateSigningKey } from "../../webhooks/sign.ts";
import { paymentTo } from "../payments.ts";
import { accounts, addressOf, began, chains, endpointId, largeCount, sender } from "./account.ts";

/** By name. Each may be repeated. */
export type Operations = Record<string, () => Promise<unknown>>;

/** `crowd`: so many at once. */
type World = { store: Store; size: number; nowMs: number; crowd: number };

const actor = { atMs: 1 };
const someAddresses = (count: number, account: "many" | "large" = "many") =>
  Array.from({ length: count }, (_, number) => addressOf(number, account));
const hexOf = (addresses: Buffer[]): Hex[] => addresses.map((each) => toHex(each));
const none = Buffer.alloc(20, 0xee);

export async function openOperations(store: Store, size: number): Promise<Operations> {
  const nowMs = began + size * 1000 + 10 ** 9;
  const world = { store, size, nowMs, crowd: Math.min(2_000, size / 100) };
  return {
    ...lists(world),
    ...(await people(world)),
    ...happenings(world),
    ...deliveries(world),
    ...(await executor(world)),
  };
}

function lists({ store, size, nowMs, crowd }: World): Operations {
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
    "list: a reference with a token none has": listed({ reference: "same", token: none }),
    "list: a part that no reference has": listed({ referenceContains: "none" }),
    "list: a token none has": listed({ token: none }),
    "list: a token none has, largest": listed({ token: none, accountId: accounts.large }),
    "list: a token none has, created by another before": listed({ token: none, ...later }),
    "list: a chain none is on, in a state": listed({ chainId: 7, state: "executed" }),
    "list: created in a span": listed({ createdFrom: middle, createdUntil: middle + 10 ** 6 }),
    "list: settled in a span": listed({ settledFrom: middle, settledUntil: middle + 10 ** 8 }),
    "list: settled, of a token none has": listed({ settledFrom: began, token: none }),
    "page: references": () => findReferences(db, accounts.many, someAddresses(100)),
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

async function people({ store, nowMs, crowd }: World): Promise<Operations> {
  const { db } = store;
  const { many } = accounts;
  const fail = (error: unknown) => {
    throw error;
  };
  const config = { publicUrl: "https://pay.example", signup: "open" as const };
  const { signIn, usage, limiter, holders, close } = await openAccounts(store, config, {
    onLimiterFault: fail,
    onUsageFault: fail,
  });
  const login = {
    email: `${randomBytes(6).toString("hex")}@example.com`,
    password: "a long password",
  };
  const digests = Array.from({ length: crowd }, () => randomBytes(32));
  const cookieOf = ({ setCookies }: { setCookies: string[] }) => ({
    cookie: setCookies.map((each) => each.split(";")[0]).join("; "),
  });
  return {
    "sign-in: all of it": async () => {
      const { account } = await signIn.signUp(login, actor);
      const cookies = cookieOf(await signIn.signIn(login, actor));
      const session = await signIn.findSession(cookies);
      const newPassword = "another password";
      await signIn.changePassword(cookies, { currentPassword: login.password, newPassword }, actor);
      const token = await signIn.makeResetToken(login.email, actor);
      await signIn.resetPassword({ token: token!, newPassword: login.password }, actor);
      await signIn.signOut(cookieOf(await signIn.signIn(login, actor)), actor);
      await endSession(db, account.accountId, session!.sessionId, actor);
      login.email = `${randomBytes(6).toString("hex")}@example.com`;
    },
    "sign-in: sessions": () => listSessions(db, many, nowMs),
    "account: made, named, with credentials and origins": async () => {
      const made = await createAccount(db, `${randomBytes(6).toString("hex")}@x.example`, actor);
      const { accountId } = made!;
      await findAccount(db, { email: made!.email });
      for (const name of ["Shop", undefined]) await confirmName(db, accountId, name, actor);
      await findName(db, accountId);
      const { prefix } = (await addApiKey(db, accountId, wholeKey, actor))!;
      await rotateApiKey(db, accountId, prefix, actor);
      const { clientId } = await findCredentials(db, accountId);
      await rotateClientId(db, accountId, clientId.client_id, actor);
      await addOrigin(db, accountId, "https://a.example", actor);
      await removeOrigin(db, accountId, "https://a.example", actor);
      await setOrigins(db, accountId, ["https://b.example"], actor);
      await listOrigins(db, accountId);
    },
    "account: audit": () => listAudit(db, many, { cursor: "a9", limit: 50 }),
    "account: usage of 92 days": () => listUsage(db, many, began),
    "credentials: very many at once": () =>
      Promise.all(
        digests
          .slice(0, crowd / 2)
          .flatMap((digest) => [holders.findApiKey(digest), holders.findClientId(digest)]),
      ),
    "credentials: very many used, and counted": async () => {
      digests.forEach((digest, at) => {
        const use = { accountId: `acc_${at}`, kind: "apiKey" as const, atMs: nowMs };
        usage.count({ ...use, digest }, "created");
        usage.seenInBrowser(digest, nowMs);
      });
      await usage.flush();
    },
    "limits: very many keys": () =>
      Promise.all(
        Array.from({ length: crowd }, (_, at) =>
          limiter.take(`key ${at}`, { name: "key", intervalMs: 1, burst: 10 }),
        ),
      ),
    "accounts: closed": async () => {
      await close();
    },
  };
}

const statusOf = (address: Hex, change: object = {}) =>
  ({
    ...{ address, state: "funded", chainId: 1, token: toHex(Buffer.alloc(20)), amount: "1" },
    ...{ balance: "1", recoverable: [], execution: null, recoveries: [], ...change },
    ...{ expirationTimestamp: 9, block: { number: 5, hash: "0x", timestamp: 9_000 } },
  }) as unknown as AddressStatus;

function happenings({ store, nowMs, crowd }: World): Operations {
  const { db } = store;
  const references = referenceWriter(store);
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
      readAgainAtMs: 1,
    }));
    const onEvents = (tx: Parameters<typeof enqueue>[0], events: Parameters<typeof enqueue>[1]) =>
      enqueue(tx, events, nowMs);
    const anchor = (await findAnchor(db, chains.many))!;
    await saveObservations(db, observations, {
      ...{ chainId: chains.many, anchor, publicUrl: "https://x.example", nowMs, onEvents },
    });
  };
  return {
    "observer: what is due": due(chains.many),
    "observer: what is due, largest": due(chains.large),
    "observer: 300 observations": () => observed({}),
    "observer: 300 that could not be read": async () => {
      const watches = await due(chains.many)();
      await postponeWatches(
        db,
        watches.map((watch) => ({ watch, readAgainAtMs: 1 })),
      );
    },
    "observer: very many paid": () => mark(hexes, 20),
    "observer: whether anything may be due": async () => {
      await mayBeDue(db, chains.many, nowMs);
      await mayBeDue(db, 9, nowMs);
    },
    "observer: what was paid": () => readPayments(db, chains.many, crowded, keccak),
    "observer: all above a block is due": () => markObservedAbove(db, chains.many, 199),
    "observer: confirmations": async () => {
      await setConfirmations(db, accounts.many, 1, 3);
      await listConfirmations(db, accounts.many);
      await setConfirmations(db, accounts.many, 1, null);
    },
    "observer: a pass of the loop": () => observerPass(store),
    "events: old ones go": () => prune(db, "events", nowMs + 10 ** 10 - eventsKeptMs),
    "references: very many at once": () =>
      Promise.all(
        crowded.map((address) =>
          references({
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
        await references({ ...named, address: address!, isClientId, isAgain: false });
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

/** One turn of the loop, whose chain does not answer. */
async function observerPass(store: Store): Promise<void> {
  const chain = {
    chainId: chains.many,
    name: "",
    rpcUrls: [],
    tokens: [],
    confirmations: 1,
  } as never;
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
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
    onEvents: async () => {},
    chains: { known: [chain], rpcOf: () => rpc },
    pollMs: 1,
    log: pino({ level: "silent" }),
  });
  await isAsked;
  await observer.stop();
}

function deliveries({ store, nowMs }: World): Operations {
  const { db } = store;
  const { many } = accounts;
  const sent = { status: 500, latencyMs: 1, answer: "no" } as const;
  const claimed = () => claim(db, [{ id: endpointId, accountId: many, room: 128 }], nowMs);
  const finished = async (status: number) => {
    const claims = await claimed();
    const each = { ...sent, status } as never;
    await finish(
      db,
      claims.map((claim) => ({ claim, sent: each, nowMs: claim.attempts })),
      () => 0.5,
    );
    await setPaused(db, many, endpointId, false, actor);
  };
  const untilMs = nowMs + 10 ** 9;
  return {
    "webhooks: endpoints that are due": async () => {
      for (const lane of [0, 1, 2] as const)
        await findDueEndpoints(db, lane, [accounts.large], nowMs, 1_000);
    },
    "webhooks: 128 claimed": claimed,
    "webhooks: 128 taken": () => finished(204),
    "webhooks: 128 refused": () => finished(500),
    "webhooks: a span is replayed": () =>
      replay(db, many, endpointId, { fromMs: began, untilMs }, nowMs),
    "webhooks: one event is replayed": () =>
      replay(db, many, endpointId, { eventId: "evt_many7" }, nowMs),
    "webhooks: a test": () => sendTest(db, endpointId, nowMs),
    "webhooks: deliveries shown": () => listDeliveries(db, endpointId, 100),
    "webhooks: old deliveries go": () => pruneDeliveries(db, nowMs + 10 ** 10),
    "webhooks: the keys": () => readSigningKeys(db, nowMs),
    "webhooks: another key": () => rotateSigningKey(db, nowMs),
    "webhooks: an endpoint, from first to last": async () => {
      const targets = "any" as const;
      const input = { url: "https://example.com/hook", types: [], targets };
      const { id } = await addEndpoint(db, accounts.large, input, actor);
      await rotateSecret(db, accounts.large, id, actor);
      await setPaused(db, accounts.large, id, true, actor);
      await removeEndpoint(db, accounts.large, id, actor);
    },
    "webhooks: the endpoint with most deliveries is removed": async () => {
      const values = await db
        .selectFrom("webhook_endpoints")
        .selectAll()
        .where("id", "=", endpointId)
        .executeTakeFirstOrThrow();
      await removeEndpoint(db, many, endpointId, actor);
      await db.insertInto("webhook_endpoints").values(values).execute();
      await findEndpoint(db, many, endpointId);
    },
  };
}

async function executor({ store, size, crowd }: World): Promise<Operations> {
  const { db, dialect } = store;
  const ledger = openLedger(db, dialect);
  const desk = openDesk(store, pino({ level: "silent" }));
  const chainId = chains.many;
  const fence: Fence = (await ledger.takeLease(chainId, "a", await ledger.findLease(chainId)))!;
  const many = hexOf(someAddresses(crowd));
  const strangers = Array.from({ length: 10 * crowd }, () => toHex(randomBytes(20)));
  const sightings = many.map((address) => paymentTo(address, 20));
  const found = (number: number, payments: typeof sightings) => ({
    anchor: { number, hash: `0x${number}` as Hex },
    payments,
    isGap: false,
  });
  const share = { gas: 1, accountId: accounts.many, isClientId: false, isTipped: false };
  const updates = many.slice(0, 250).map((address) => ({
    ...{ address, state: "waiting" as const, dueAtSeconds: 1, reason: null, notBeforeSeconds: 0 },
    ...{ failures: 0, paidFailures: 0, recoveryFailures: 0 },
  }));
  let nonce = await ledger.readNextNonce(chainId, sender);
  const open = async (address: Hex) => {
    const fee = { maxFee: 1n, priorityFee: 1n };
    const signed = () => ({
      ...{
        hash: toHex(randomBytes(32)),
        raw: "0x00" as Hex,
        fee,
        signedAtSeconds: 1,
        signedBlock: 1,
        isFill: false,
      },
    });
    const shares = [{ ...share, address }];
    const purpose = {
      sender,
      nonce: nonce++,
      data: "0x00" as Hex,
      gas: 1,
      createdAtSeconds: 1,
      shares,
    };
    const id = await ledger.openPurpose(fence, { ...purpose, kind: "recover" }, signed());
    await ledger.addTransaction(fence, id, signed());
    return id;
  };
  const settle = async () => {
    const address = many[0]!;
    const purposeId = await open(address);
    await ledger.findPending(chainId, sender);
    const token = many[1]!;
    const outcomes = [{ kind: "recovered" as const, vault: address, token, amount: 1n }];
    const at = { transactionHash: "0x00" as Hex, blockNumber: 9, paid: 1n, minedAtSeconds: 1 };
    await ledger.settlePurpose(fence, {
      purposeId,
      ...at,
      tips: new Map(),
      outcomes,
      updates: updates.slice(0, 1),
    });
    await ledger.reopenPurpose(fence, purposeId, [address]);
    await ledger.loseNonce(fence, purposeId, updates.slice(0, 1));
  };
  return {
    "executor: jobs due too late": () => ledger.pullLate(fence, { dueAt: 10 ** 9, address: "0x" }),
    "executor: jobs that are due": () => ledger.findDueJobs(chainId, 10 ** 9, 250),
    "executor: jobs that are due, largest": () => ledger.findDueJobs(chains.large, 10 ** 9, 250),
    "executor: very many transfers to strangers": () => ledger.matchAddresses(strangers),
    "executor: very many paid": () => ledger.savePayments(fence, found(20, sightings), 1),
    "executor: sweeps": async () => {
      await ledger.findAnchor(chainId);
      await ledger.forgetAbove(fence, 199);
      await ledger.savePayments(fence, found(200, sightings.slice(0, 1)), 1);
    },
    "executor: 250 looked at": () => ledger.updateJobs(fence, updates),
    "executor: how often a job failed": () => ledger.readHistory(chainId, many[0]!),
    "executor: a purpose, from first to last": settle,
    "executor: an operator drops a job, and has it again": async () => {
      await dropJob(db, chainId, many[2]!);
      await ledger.saveLook(fence, [], 1);
    },
    "executor: purposes of a deep reorganisation": async () => {
      await ledger.findFinalAbove(chainId, sender, size - 20);
      await ledger.findFinalFrom(chainId, sender, size - 20);
      await ledger.readNextNonce(chainId, sender);
    },
    "executor: spending": async () => {
      await ledger.readSpending(chainId, 1);
      await ledger.readAccountSpending(chainId, 1);
      await desk.gasSpentFor("acc_1");
    },
    "executor: whether a chain may sleep": async () => {
      await ledger.passClosed(chainId, 0, 1);
      await ledger.isBlockAwaited(chainId);
    },
    "executor: new records looked at": async () => {
      const created = await ledger.findCreated(0, 500);
      await ledger.findHeld(created.slice(0, 450).map(({ address }) => address));
      await ledger.readLookedUntil(chainId);
      const block = { number: 1, timestamp: 1 };
      const hints = created.slice(0, 100).map(({ address }) => {
        return { address, block, isEnough: true };
      });
      await ledger.saveLook(fence, hints, 1);
    },
    "executor: many held, largest": () =>
      ledger.findHeld(hexOf(someAddresses(largeCount, "large"))),
    "executor: the oldest record": () => ledger.findOldestCreation(),
    "executor: the lease": async () => {
      await ledger.renewLease(fence);
      await ledger.releaseLease({ ...fence, epoch: fence.epoch + 1 });
    },
    "desk: 500 statuses at once": () =>
      Promise.all(many.slice(0, 500).map((address) => desk.progressOf(statusOf(address)))),
  };
}
