// The database operations of the executor (ledger), and of the routes that access the executor
// (client).

import { randomBytes } from "node:crypto";
import { type Hex, toHex } from "executable-address";
import { pino } from "pino";
import { elsewhereFinder } from "../../../events/elsewhere/amounts.ts";
import { misdirectedFinder } from "../../../events/misdirected.ts";
import { newOpenSearch } from "../../../events/open-records.ts";
import { savePaymentsElsewhere } from "../../../events/payments.ts";
import { openExecutorClient } from "../../../executor/client.ts";
import { dropJob } from "../../../executor/ledger/jobs.ts";
import type { Fence } from "../../../executor/ledger/lease.ts";
import { openLedger } from "../../../executor/ledger/ledger.ts";
import { keccak } from "../../../store/record.ts";
import { paymentTo } from "../../payments.ts";
import { accounts, chains, largeCount, sender } from "../account.ts";
import { hexOf, type Operations, someAddresses, statusOf, type World } from "./world.ts";

const chainId = chains.many;

export async function executor({ store, size, crowd }: World): Promise<Operations> {
  const { db, dialect } = store;
  const ledger = openLedger(db, dialect);
  const executorClient = openExecutorClient(store, pino({ level: "silent" }), 10);
  const fence: Fence = (await ledger.takeLease(chainId, "a", await ledger.findLease(chainId)))!;
  const many = hexOf(someAddresses(crowd));
  const hands = { db, ledger, executorClient, fence, many };
  return {
    ...jobs(hands),
    ...(await purposes(hands, size)),
    ...records(hands),
    "executor: renew and release the lease": async () => {
      await ledger.renewLease(fence);
      await ledger.releaseLease({ ...fence, epoch: fence.epoch + 1 });
    },
    "client: check whether a chain has an executor": () => executorClient.isActive(chainId),
    "client: read the progress of 500 addresses simultaneously": () =>
      Promise.all(
        many.slice(0, 500).map((address) => executorClient.readProgressAndWake(statusOf(address))),
      ),
  };
}

type Hands = {
  db: World["store"]["db"];
  ledger: ReturnType<typeof openLedger>;
  executorClient: ReturnType<typeof openExecutorClient>;
  fence: Fence;
  /** The addresses that the operations read and write. */
  many: Hex[];
};

const updateOf = (address: Hex) => ({
  ...{ address, state: "waiting" as const, dueAtSeconds: 1, reason: null, notBeforeSeconds: 0 },
  ...{ failures: 0, paidFailures: 0, recoveryFailures: 0 },
});

function jobs({ db, ledger, executorClient, fence, many }: Hands): Operations {
  const strangers = Array.from({ length: 10 * many.length }, () => toHex(randomBytes(20)));
  const sightings = many.map((address) => paymentTo(address, 20));
  const found = (number: number, payments: typeof sightings) => ({
    anchor: { number, hash: `0x${number}` as Hex },
    payments,
    isGap: false,
    agreed: payments,
  });
  return {
    "executor: bring forward jobs that are due too late": () =>
      ledger.pullLate(fence, { dueAtSeconds: 10 ** 9, address: "0x" }),
    "executor: find jobs that are due": () => ledger.findDueJobs(chainId, 10 ** 9, 250),
    "executor: find jobs that are due, with large rows": () =>
      ledger.findDueJobs(chains.large, 10 ** 9, 250),
    "executor: match transfers to many unknown addresses": () => ledger.matchAddresses(strangers),
    "executor: save payments to many addresses": () =>
      ledger.savePayments(fence, found(20, sightings), 1),
    "executor: save payments on a different chain": async () => {
      const there = sightings.slice(0, 50);
      await db.transaction().execute((tx) => savePaymentsElsewhere(tx, chains.large, there));
      await ledger.isBlockAwaited(chains.large);
    },
    "executor: save balances on another chain": () => {
      const balances = new Map<Hex, bigint>([[`0x${"11".repeat(20)}`, 1n]]);
      const read = many.slice(0, 250).map((address) => ({ address, balances }));
      return ledger.saveBalances(fence, 200, read);
    },
    "executor: find the tokens that open addresses request": async () => {
      await ledger.findRequestedTokens(chains.large, 1, 0);
      await ledger.findRequestedTokens(chainId, 1, 0);
    },
    "executor: read, undo, and save anchors": async () => {
      await ledger.findAnchor(chainId);
      await ledger.forgetAbove(fence, 199);
      await ledger.savePayments(fence, found(200, sightings.slice(0, 1)), 1);
    },
    "executor: save and find look-alikes at many addresses": async () => {
      const lookalikes = sightings.map((each) => ({ ...each, isLookalike: true }));
      await ledger.savePayments(fence, found(21, lookalikes), 1);
      await ledger.findMisdirectedTokens(chainId, many);
      const find = misdirectedFinder(db, keccak);
      await Promise.all(many.slice(0, 500).map(find));
      const findElsewhere = elsewhereFinder(db, keccak);
      const asked = many.slice(0, 500).map((address) => ({ address, chainId: chains.large }));
      await Promise.all(asked.map(findElsewhere));
      await Promise.all(asked.map(executorClient.findReturns));
    },
    "executor: save, claim, and postpone a reported token": async () => {
      const block = { number: 20, timestamp: 1 };
      const [address, token] = [many[3]!, many[4]!];
      const reported = { chainId, address, tokens: [token], block, notBefore: 1 };
      await executorClient.reportTokens(reported);
      await ledger.takeReported(fence, 10 ** 9, 2 * 10 ** 9, 4);
      await ledger.postponeReported(fence, { address, token }, null);
      await ledger.countReturns(chainId, 0);
    },
    "executor: update 250 jobs": () => ledger.updateJobs(fence, many.slice(0, 250).map(updateOf)),
    "executor: read a job's history of failures": () => ledger.readHistory(chainId, many[0]!),
    "executor: drop a job, then save an empty scan": async () => {
      await dropJob(db, chainId, many[2]!);
      await ledger.saveScan(fence, [], 1);
    },
  };
}

async function purposes(
  { ledger, executorClient, fence, many }: Hands,
  size: number,
): Promise<Operations> {
  const share = { gas: 1, accountId: accounts.many, isClientId: false, isTipped: false };
  let nonce = await ledger.readNextNonce(chainId, sender);
  const open = async (address: Hex, reported?: { address: Hex; token: Hex }) => {
    const fee = { maxFee: 1n, priorityFee: 1n };
    const signed = () => ({
      hash: toHex(randomBytes(32)),
      raw: "0x00" as Hex,
      fee,
      signedAtSeconds: 1,
      signedBlock: 1,
      isZeroValueTransfer: false,
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
    const kind = reported ? "return" : "recover";
    const id = await ledger.openPurpose(fence, { ...purpose, kind, reported }, signed());
    await ledger.addTransaction(fence, id, signed());
    return id;
  };
  const settle = async () => {
    const address = many[0]!;
    const updates = [updateOf(address)];
    const token = many[1]!;
    const returnId = await open(many[5]!, { address: many[5]!, token });
    const purposeId = await open(address);
    await ledger.findPending(chainId, sender);
    const outcomes = [{ kind: "recovered" as const, vault: address, token, amount: 1n }];
    const mined = { transactionHash: "0x00" as Hex, blockNumber: 9, paid: 1n, minedAtSeconds: 1 };
    const settled = { ...mined, tips: new Map(), outcomes };
    await ledger.settlePurpose(fence, { ...settled, purposeId, updates });
    // Also settles the return, so that the next run of this operation can use the address.
    const freed = { purposeId: returnId, outcomes: [], updates: [updateOf(many[5]!)] };
    await ledger.settlePurpose(fence, { ...settled, ...freed });
    await ledger.reopenPurpose(fence, purposeId, [address]);
    const foreign = { sender, nonce: nonce - 1, createdAtSeconds: 1, chargedAtSeconds: 1 };
    await ledger.recordForeign(fence, { ...foreign, wei: 1n, updates });
  };
  return {
    "executor: open, settle, and reopen a purpose": settle,
    "executor: find purposes after a deep reorganization": async () => {
      await ledger.findConfirmedAbove(chainId, sender, size - 20);
      await ledger.findConfirmedFrom(chainId, sender, size - 20);
      await ledger.readNextNonce(chainId, sender);
    },
    "executor: read the spending of a chain and an account": async () => {
      await ledger.readSpending(chainId, 1);
      await ledger.readAccountSpending(chainId, 1);
      await executorClient.readGasSpent("acc_1");
    },
  };
}

function records({ ledger, fence }: Hands): Operations {
  return {
    "executor: check whether a chain can sleep": async () => {
      await ledger.searchOpenRecords(chainId, newOpenSearch, 1);
      await ledger.isBlockAwaited(chainId);
    },
    "executor: scan new records": async () => {
      const created = await ledger.findCreated(0, 500);
      await ledger.findRecords(created.slice(0, 450).map(({ address }) => address));
      await ledger.readScannedUntil(chainId);
      const block = { number: 1, timestamp: 1 };
      const hints = created.slice(0, 100).map(({ address }) => {
        return { address, block, isEnough: true };
      });
      await ledger.saveScan(fence, hints, 1);
    },
    "executor: find many records, with large rows": () =>
      ledger.findRecords(hexOf(someAddresses(largeCount, "large"))),
    "executor: find the oldest record": () => ledger.findOldestCreation(),
  };
}
