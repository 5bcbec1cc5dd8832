import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { fromHex, type Hex } from "executable-address";
import type { Payment } from "../../follow/payment.ts";
import type { Store } from "../../store/store.ts";
import { type EmptyStore, openEmptyStore } from "../../testing/empty-store.ts";
import { paymentTo } from "../../testing/payments.ts";
import { dropJob, retryJob } from "./jobs.ts";
import type { Fence } from "./lease.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import { type JobReason, quoteText } from "./reasons.ts";

const address = (n: number): Hex => `0x${n.toString(16).padStart(40, "0")}`;
const sender = address(0xe0);
const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, "0")}`;
const found = (number: number, payments: Payment[] = []) => ({
  anchor: { number, hash: hash(number) },
  payments,
  isGap: false,
  agreed: [],
});

let signatures = 0;
/** Each transaction has a new hash, because a signer can return different bytes each time. */
const signed = (n: number) => ({
  hash: hash(1000 + signatures++),
  raw: "0x02" as Hex,
  fee: { maxFee: 10n ** 20n + BigInt(n), priorityFee: 1n },
  signedAtSeconds: 100 + n,
  signedBlock: 10,
  isZeroValueTransfer: false,
});
const purpose = (nonce: number, ...addresses: Hex[]) => ({
  sender,
  nonce,
  kind: "execute" as const,
  data: "0x1234" as Hex,
  gas: 100_000,
  createdAtSeconds: 100,
  shares: addresses.map((each) => ({
    address: each,
    gas: 100_000,
    accountId: "acc_1",
    isClientId: false,
    isTipped: false,
  })),
});

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the executor's database functions, on ${dialect}`, () => {
    let opened: EmptyStore;
    let store: Store;
    let ledger: Ledger;
    let chainId = 1;
    let fence: Fence;

    before(async () => {
      opened = await openEmptyStore(dialect);
      store = opened.store;
      ledger = openLedger(store.db, store.dialect);
      for (let n = 1; n <= 9; n++) {
        const row = { address: fromHex(address(n)), terms: Buffer.alloc(256, n % 8) };
        const accountId = n === 9 ? "slow" : "acc";
        await store.saveRecord({ ...row, accountId, createdAtMs: 5000 + n });
      }
    });
    after(() => opened.stop());
    beforeEach(async () => {
      fence = (await ledger.takeLease(++chainId, "a", undefined))!;
      const sightings = [1, 2, 3].map((n) => paymentTo(address(n), 7));
      await ledger.savePayments(fence, found(7, sightings), 50);
    });

    const lost = () => ({
      name: "LeaseLost",
      message: `chain ${chainId}: expected the lease of epoch 1, found epoch 2 of "b"`,
    });

    test("reject every write of an executor that has lost its lease", async () => {
      const seen = await ledger.findLease(chainId);
      const taken = await ledger.takeLease(chainId, "b", seen);
      assert.equal(taken?.epoch, 2);
      await assert.rejects(ledger.renewLease(fence), lost());
      await assert.rejects(ledger.openPurpose(fence, purpose(0, address(1)), signed(1)), lost());
      await assert.rejects(ledger.savePayments(fence, found(8), 50), lost());
      assert.deepEqual(await ledger.findPending(chainId, sender), []);
    });

    test("refuse to take a lease that was renewed since it was read", async () => {
      const seen = await ledger.findLease(chainId);
      await ledger.renewLease(fence);
      assert.equal(await ledger.takeLease(chainId, "b", seen), undefined);
      await ledger.renewLease(fence);
    });

    test("give the lease to only one of ten simultaneous requests", async () => {
      const seen = await ledger.findLease(chainId);
      const takers = Array.from({ length: 10 }, (_, i) => ledger.takeLease(chainId, `${i}`, seen));
      const taken = (await Promise.all(takers)).filter((each) => each !== undefined);
      assert.equal(taken.length, 1);
    });

    test("reject a second transaction for the same nonce or job", async () => {
      await ledger.openPurpose(fence, purpose(5, address(1), address(2)), signed(1));
      await assert.rejects(ledger.openPurpose(fence, purpose(5, address(3)), signed(2)));
      const conflicting = purpose(6, address(3), address(2));
      await assert.rejects(ledger.openPurpose(fence, conflicting, signed(3)), {
        name: "PurposeConflict",
        message:
          `purpose ${chainId}:${sender}:6: an operator dropped these addresses, ` +
          `or they already have another transaction: ${address(2)}`,
      });
      const due = await ledger.findDueJobs(chainId, 50, 10);
      assert.deepEqual(
        due.map((job) => job.address),
        [address(3)],
      );
      assert.equal(await ledger.readNextNonce(chainId, sender), 6);
    });

    test("store every signed transaction, even if its fees exceed 2^53 wei", async () => {
      const transactions = [signed(1), signed(2)] as const;
      const id = await ledger.openPurpose(fence, purpose(0, address(1)), transactions[0]);
      await ledger.addTransaction(fence, id, transactions[1]);
      const [found] = await ledger.findPending(chainId, sender);
      assert.deepEqual(found?.transactions, transactions);
      assert.deepEqual(found?.addresses, [address(1)]);
      assert.equal(found?.data, "0x1234");
    });

    test("charge gas only once if a transaction is settled twice", async () => {
      const id = await ledger.openPurpose(fence, purpose(0, address(1)), signed(1));
      const amount = 2n ** 200n;
      const settlement = {
        purposeId: id,
        transactionHash: hash(1),
        blockNumber: 9,
        paid: 10n ** 18n,
        minedAtSeconds: 86_400 * 3 + 5,
        tips: new Map([[address(1), 3n]]),
        outcomes: [
          { kind: "executed" as const, vault: address(1), token: address(8), amount, left: 0n },
        ],
        updates: [
          { address: address(1), state: "idle" as const, dueAtSeconds: null, reason: null },
        ],
      };
      assert.equal(await ledger.settlePurpose(fence, settlement), true);
      assert.equal(await ledger.settlePurpose(fence, settlement), false);
      assert.equal(await ledger.readSpending(chainId, 3), 10n ** 18n - 3n);
      assert.deepEqual(await ledger.findPending(chainId, sender), []);
      const due = await ledger.findDueJobs(chainId, 1000, 10);
      assert.deepEqual(
        due.map((job) => job.address),
        [address(2), address(3)],
      );
      const [final] = await ledger.findConfirmedAbove(chainId, sender, 8);
      assert.equal(final?.id, id);
    });

    test("charge the cost that exceeds the tip, and refund it after a reorganization", async () => {
      const tipped = purpose(0, address(1));
      const shares = tipped.shares.map((share) => ({ ...share, isTipped: true }));
      const id = await ledger.openPurpose(fence, { ...tipped, shares }, signed(1));
      const settlement = {
        purposeId: id,
        transactionHash: hash(1),
        blockNumber: 9,
        paid: 100n,
        minedAtSeconds: 86_400 * 5,
        tips: new Map([[address(1), 60n]]),
        outcomes: [],
        updates: [],
      };
      await ledger.settlePurpose(fence, settlement);
      const { accountId } = shares[0]!;
      const today = async () => (await ledger.readAccountSpending(chainId, 5)).get(accountId);
      const short = { total: 40n, client: 0n, tips: 40n, gas: 100n, earned: 60n };
      assert.deepEqual(await today(), short);
      assert.equal(await ledger.readSpending(chainId, 5), 40n);
      await ledger.reopenPurpose(fence, id, [address(1)]);
      assert.deepEqual(await today(), { total: 0n, client: 0n, tips: 0n, gas: 0n, earned: 0n });
      assert.equal(await ledger.readSpending(chainId, 5), 0n);
      await ledger.settlePurpose(fence, { ...settlement, tips: new Map() });
      assert.equal(await ledger.readSpending(chainId, 5), 100n);
    });

    const foreign = (nonce: number, wei = 0n) => ({
      ...{ sender, nonce, wei, createdAtSeconds: 1, chargedAtSeconds: 5 * 86_400, updates: [] },
    });

    test("make a transaction pending again after a reorganization", async () => {
      const id = await ledger.openPurpose(fence, purpose(0, address(1)), signed(1));
      await ledger.recordForeign(fence, foreign(0));
      await ledger.reopenPurpose(fence, id, [address(1)]);
      assert.equal((await ledger.findPending(chainId, sender)).length, 1);
      const due = await ledger.findDueJobs(chainId, 1000, 10);
      assert.ok(!due.some((job) => job.address === address(1)));
    });

    test("charge an unknown transaction once, and refund it after a reorganization", async () => {
      for (let times = 0; times < 2; times++) {
        await ledger.recordForeign(fence, foreign(6, 70n));
        assert.equal(await ledger.readSpending(chainId, 5), 70n);
        assert.equal(await ledger.readNextNonce(chainId, sender), 7);
      }
      await ledger.reopenPurpose(fence, `${chainId}:${sender}:6`, []);
      assert.equal(await ledger.readSpending(chainId, 5), 0n);
      assert.equal(await ledger.readNextNonce(chainId, sender), 0);
    });

    test("replace a stored transaction with another that has the same nonce", async () => {
      await ledger.openPurpose(fence, purpose(0, address(1)), signed(1));
      const adopted = signed(2);
      for (let times = 0; times < 2; times++) {
        await ledger.adoptPurpose(fence, purpose(0, address(2)), adopted, []);
        const [found, ...more] = await ledger.findPending(chainId, sender);
        assert.deepEqual([found?.addresses, more], [[address(2)], []]);
        assert.deepEqual(
          found?.transactions.map(({ hash }) => hash),
          [adopted.hash],
        );
      }
    });

    test("keep a dropped job dropped after a reorganization", async () => {
      const isDue = async () => {
        const due = await ledger.findDueJobs(chainId, 10 ** 6, 10);
        return due.some((job) => job.address === address(1));
      };
      const id = await ledger.openPurpose(fence, purpose(0, address(1)), signed(1));
      await ledger.recordForeign(fence, foreign(0));
      await dropJob(store.db, chainId, address(1));
      await ledger.reopenPurpose(fence, id, [address(1)]);
      await ledger.recordForeign(fence, foreign(0));
      await ledger.savePayments(fence, found(8, [paymentTo(address(1), 8)]), 60);
      assert.equal(await isDue(), false, "the job is still dropped");
      await ledger.reopenPurpose(fence, id, [address(1)]);
      await retryJob(store.db, chainId, address(1));
      assert.equal(await isDue(), false, "the job's transaction is pending again");
      await ledger.recordForeign(fence, foreign(0));
      assert.equal(await isDue(), true);
    });

    test("never return a dropped job as due", async () => {
      const rests = { state: "idle" as const, dueAtSeconds: null, reason: null };
      await ledger.updateJobs(fence, [{ ...rests, address: address(1) }]);
      const seen: boolean[] = [];
      const watched = store.db.withPlugin({
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          const due = await ledger.findDueJobs(chainId, 1000, 10);
          seen.push(due.some((job) => job.address === address(1)));
          return result;
        },
      });
      assert.equal(await dropJob(watched, chainId, address(1)), true);
      assert.deepEqual(new Set(seen), new Set([false]));
      await retryJob(watched, chainId, address(1));
      assert.equal(seen.at(-1), true, "the job is due after a retry");
    });

    test("make a waiting job due after a payment, but not before its retry time", async () => {
      const idle = { state: "waiting" as const, dueAtSeconds: null, reason: quoteText("reverts") };
      await ledger.updateJobs(fence, [
        { ...idle, address: address(1), notBeforeSeconds: 80, failures: 2 },
        { ...idle, address: address(2) },
      ]);
      const again = [1, 2].map((n) => paymentTo(address(n), 8));
      await ledger.savePayments(fence, found(8, again), 60);
      const dueAtSeconds = async (now: number) =>
        (await ledger.findDueJobs(chainId, now, 10)).map((job) => job.address);
      assert.deepEqual(await dueAtSeconds(79), [address(3), address(2)]);
      assert.deepEqual(await dueAtSeconds(80), [address(3), address(2), address(1)]);
    });

    test("count the waiting time of a job only if the executor causes the delay", async () => {
      const put = (n: number, reason: JobReason | null, dueAtSeconds: number | null) =>
        ledger.updateJobs(fence, [{ address: address(n), state: "waiting", reason, dueAtSeconds }]);
      const waited = (nowSeconds: number) => ledger.readWaitedSeconds(chainId, nowSeconds);
      assert.equal(await waited(2000), 1950, "due since it was detected, and never tried");
      await put(1, "budget_spent", 9000);
      await put(2, quoteText("CallFailed"), 9000);
      await put(3, "underfunded", null);
      assert.equal(await waited(2000), 0);
      await put(1, "signer_unavailable", 2005);
      assert.equal(await waited(2000), 1950, "detected long ago, and postponed repeatedly");
      await ledger.openPurpose(fence, purpose(0, address(1)), signed(1));
      assert.equal(await waited(2000), 0, "on its way");
      await put(2, quoteText("CallFailed"), 1700);
      assert.equal(await waited(2000), 300, "due, but not processed");
    });

    test("update several jobs without a change to other fields or to dropped jobs", async () => {
      await dropJob(store.db, chainId, address(3));
      const waits = { state: "waiting" as const, dueAtSeconds: 60, reason: "underfunded" as const };
      await ledger.updateJobs(fence, [
        { ...waits, address: address(1) },
        { ...waits, address: address(2), failures: 2, notBeforeSeconds: 55 },
        { ...waits, address: address(3) },
      ]);
      const due = await ledger.findDueJobs(chainId, 70, 9);
      assert.deepEqual(
        due.map((job) => [job.address, job.reason, job.failures, job.notBeforeSeconds]),
        [
          [address(1), "underfunded", 0, 0],
          [address(2), "underfunded", 2, 55],
        ],
      );
    });

    test("prefer the due jobs of an account whose simulations are fast", async () => {
      const more = [4, 5, 9].map((n) => paymentTo(address(n), 8));
      await ledger.savePayments(fence, found(8, more), 60);
      const due = await ledger.findDueJobs(chainId, 70, 3, (id) => (id === "slow" ? 200 : 0));
      assert.deepEqual(
        due.map(({ accountId }) => accountId),
        ["acc", "acc", "slow"],
      );
    });

    test("find the newest stored block, or the newest one below a number", async () => {
      await ledger.savePayments(fence, found(9), 60);
      assert.deepEqual(await ledger.findAnchor(chainId), { number: 9, hash: hash(9) });
      assert.deepEqual(await ledger.findAnchor(chainId, 9), { number: 7, hash: hash(7) });
      await ledger.forgetAbove(fence, 7);
      assert.deepEqual(await ledger.findAnchor(chainId), { number: 7, hash: hash(7) });
      assert.equal(await ledger.findOldestCreation(), 5);
    });

    describe("new records", () => {
      test("are returned once and in order, regardless of the page size", async () => {
        for (const limit of [1, 4, 9, 100]) {
          const found: number[] = [];
          for (let seq = 0; ; ) {
            const created = await ledger.findCreated(seq, limit);
            assert.ok(created.length <= limit);
            if (created.length === 0) break;
            found.push(...created.map((record) => Number(record.address)));
            seq = created.at(-1)!.seq;
          }
          assert.deepEqual(found, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        }
      });

      test("are returned with their intent data and creators", async () => {
        const terms = Uint8Array.from({ length: 600 }, (_, n) => (n < 256 ? 0 : n % 251));
        await store.saveRecord({
          address: fromHex(address(300_000)),
          terms,
          accountId: "acc",
          createdAtMs: 1,
        });
        const held = await ledger.findRecords([address(300_000), address(300_001)]);
        const creator = { accountId: "acc", isClientId: false, expirationSeconds: 0 };
        assert.deepEqual(
          held.map((each) => ({ ...each, terms: Uint8Array.from(each.terms) })),
          [{ ...creator, address: address(300_000), terms }],
        );
        assert.deepEqual(await ledger.findRecords([]), []);
      });

      test("get a job if their addresses have money and they have no active job", async () => {
        const block = { number: 9, timestamp: 60 };
        const hints = [1, 2, 4].map((n) => ({ address: address(n), block, isEnough: false }));
        const rest = { state: "idle" as const, dueAtSeconds: null, reason: null };
        await ledger.updateJobs(fence, [{ ...rest, address: address(1) }]);
        assert.equal(await ledger.readScannedUntil(chainId), 0);
        assert.deepEqual(await ledger.saveScan(fence, hints, 70), [hints[0], hints[2]]);
        assert.deepEqual(await ledger.saveScan(fence, hints, 80), []);
        const short = {
          state: "waiting" as const,
          dueAtSeconds: 900,
          reason: "underfunded" as const,
        };
        await ledger.updateJobs(fence, [{ ...short, address: address(1) }]);
        assert.deepEqual(await ledger.saveScan(fence, hints, 80), []);
        const enough = { ...hints[0]!, isEnough: true };
        assert.deepEqual(await ledger.saveScan(fence, [enough], 80), [enough]);
        assert.equal(await ledger.readScannedUntil(chainId), 80);
        await ledger.takeLease(chainId, "b", await ledger.findLease(chainId));
        await assert.rejects(ledger.saveScan(fence, hints, 90), lost());
        assert.equal(await ledger.readScannedUntil(chainId), 80);
      });
    });

    test("find the stored addresses among 70,000 addresses", async () => {
      assert.deepEqual(await ledger.matchAddresses([]), []);
      const asked = Array.from({ length: 70_000 }, (_, n) => address(n + 5));
      const found = await ledger.matchAddresses(asked);
      assert.deepEqual(found.sort(), [5, 6, 7, 8, 9].map(address));
    });
  });
}
