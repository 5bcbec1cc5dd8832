// Finds payments, in two ways. `sweepContext` connects the log reader (../../follow/) to the
// executor's database functions (../ledger/), which save the payments in new logs. `scanNewRecords`
// reads the balance of each new record once, because anyone can derive an address offline and pay
// it before it is created here. The log of such an early payment is ignored, because there is no
// record yet.
//
// Together, logs and balances miss no payment in the intent's token. `scanNewRecords` first reads
// the new records, and then reads the cursor. The cursor is the number of the last block with known
// logs. Logs above the cursor are read later, when the new records already exist. So payments to
// these records are not ignored. Balances are read at the cursor or a later block, so they include
// all payments up to the cursor.
//
// Up to `pairsPerCallMax` balances are read with one eth_call. Each pass reads a limited number of
// balances, so that other work is not delayed.
//
// While many blocks are unread, the balances of all open addresses are read again. Payments in
// these blocks are therefore found early.

import { fromHex, type Hex } from "executable-address";
import { ChainUnavailable } from "../../chain/rpc/json-rpc.ts";
import {
  fewerPairs,
  morePairs,
  pairsPerCallMax,
  readHoldings,
  type VaultToken,
} from "../../chain/status/probe.ts";
import { newOpenSearch, type OpenSearch } from "../../events/open-records.ts";
import { hourMs } from "../../flow/days.ts";
import { groupsOf } from "../../flow/groups.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { max } from "../../flow/numbers.ts";
import type { FollowMemory, SweepContext } from "../../follow/context.ts";
import type { Created } from "../../store/find-records.ts";
import { causeOf, decodeRecord } from "../../store/record.ts";
import { statementRows } from "../../store/statement-rows.ts";
import { CorruptError } from "../../store/store.ts";
import type { JobHint } from "../ledger/jobs.ts";
import type { Pass } from "../pass.ts";
import { severalInTurn } from "./vaults.ts";

/** Returns the input for a sweep. A sweep reads new logs and saves the payments in them. */
export function sweepContext(pass: Pass<ScanMemory & { follow: FollowMemory }>): SweepContext {
  const { parts, memory, fence, view } = pass;
  const { ledger, chain, signers, report, tuning } = parts;
  const { chainId } = chain;
  // `nowSeconds` is the newest block's timestamp plus the time that this host has measured since
  // then. The measured time can be wrong and must not delay jobs. Therefore, a job's due time is
  // never later than the block's timestamp.
  const dueSeconds = Math.min(pass.nowSeconds, view.head.timestamp);
  return {
    chain,
    view,
    tuning,
    report,
    memory: memory.follow,
    store: {
      matchAddresses: ledger.matchAddresses,
      findCreated: ledger.findCreated,
      findRequestedTokens: (seq) => ledger.findRequestedTokens(chainId, dueSeconds, seq),
      findOldestCreation: ledger.findOldestCreation,
      findAnchor: (before) => ledger.findAnchor(chainId, before),
      async save(anchor, payments, isGap, agreed) {
        await ledger.savePayments(fence, { anchor, payments, isGap, agreed }, dueSeconds);
        memory.scan.isOutdated ||= isGap;
      },
      async wake(addresses) {
        const block = { number: view.head.number, timestamp: dueSeconds };
        const hints = addresses.map((address) => ({ address, block, isEnough: true }));
        // A stranger can pay thousands of addresses in one block. The payments are saved in several
        // short commits, because each commit delays requests that create addresses.
        for (const group of groupsOf(hints, statementRows.costly)) {
          const woken = await ledger.saveScan(fence, group, undefined);
          for (const { address } of woken) {
            report({ kind: "detected", address, blockNumber: block.number });
          }
        }
      },
      async undoAbove(number) {
        for (const { address } of signers) {
          for (const each of await ledger.findConfirmedAbove(chainId, address, number)) {
            await ledger.reopenPurpose(fence, each.id, each.addresses);
            report({ kind: "reopened", nonce: each.nonce });
          }
        }
        await ledger.forgetAbove(fence, number);
      },
    },
  };
}

/** If too few endpoints return a balance, the executor repeats the read for at most this time. */
const uncorroboratedMs = hourMs;

/** The maximum length of `again`. The oldest entries are removed first. */
const againMax = 100_000;

/** The maximum number of records per query, including records for other chains. */
const rowsMax = 500;

/** The minimum time between two saves of the position. */
const saveEveryMs = 10_000;

/**
 * The minimum time between the starts of two scans. A scan of all records needs one `eth_call` per
 * {@link pairsPerCallMax} records. If a new scan started with each block, it might never end.
 */
const beginEveryMs = 60_000;

/** With more unread blocks than this, the balances of open addresses are read again. */
const behindBlocksMax = 100;

/** The progress of the scan. Times are in milliseconds of a monotonic clock. */
type Scan = {
  /**
   * The `seq` of the last scanned record; undefined before the saved value was read. The balances
   * of the records in `again` have to be read again.
   */
  seq: number | undefined;
  /** The saved `seq`, and when it was saved. */
  saved: { seq: number; atMs: number };
  /**
   * The records whose balances must be read again, because too few endpoints answered. After
   * `untilMs`, the balance is not read again. If no endpoint answered, there is no time limit.
   */
  again: Map<Hex, Created & { untilMs: number }>;
  /** Selects the endpoint that a read starts with. It is incremented with each read. */
  turn: number;
  beganMs: number;
  /** Whether the scan has reached the newest record. */
  isAtEnd: boolean;
  /** Whether a new scan is necessary because logs were missing after this scan began. */
  isOutdated: boolean;
  /**
   * The number of records per step. It is reduced while endpoints do not answer larger requests.
   */
  stepMax: number;
  openSearch: OpenSearch;
};

export type ScanMemory = { scan: Scan };

export const openScanMemory = (): ScanMemory => ({ scan: newScan() });

type ScanPass = Pass<ScanMemory>;

const newScan = (): Scan => ({
  seq: undefined,
  saved: { seq: 0, atMs: 0 },
  again: new Map(),
  turn: 0,
  beganMs: Number.NEGATIVE_INFINITY,
  isAtEnd: true,
  isOutdated: false,
  stepMax: pairsPerCallMax,
  openSearch: newOpenSearch,
});

/**
 * Reads the balances of up to `tuning.recordsPerPass` new records. If there are none, reads the
 * balances of the records in `again`.
 *
 * @param blocksBehind the number of blocks whose logs are unread
 * @returns whether all new records were read
 */
export async function scanNewRecords(pass: ScanPass, blocksBehind: number): Promise<boolean> {
  const { parts, memory, view } = pass;
  const { ledger, tuning, chain } = parts;
  if (tuning.recordsPerPass === 0) return true;
  memory.scan = restartIfOutdated(memory.scan, parts.clock());
  const { scan } = memory;
  scan.seq ??= scan.saved.seq = await ledger.readScannedUntil(chain.chainId);
  if (blocksBehind > behindBlocksMax) await goBackToOpen(pass);
  const stepMax = Math.min(scan.stepMax, tuning.recordsPerPass);
  const read = await ledger.findCreated(scan.seq, rowsMax);
  const fresh = read.filter(({ chainId }) => chainId === chain.chainId).slice(0, stepMax);
  const next = fresh.length === stepMax ? fresh.at(-1) : read.at(-1);
  const step = fresh.length > 0 ? fresh : [...scan.again.values()].slice(0, stepMax);
  const swept = await ledger.findAnchor(chain.chainId);
  if (swept && swept.number > view.head.number) return false;
  const probed = await probe(pass, await readRequested(pass, step));
  if (!probed) return false;
  if (probed.paid.length > 0) {
    const woken = await ledger.saveScan(pass.fence, probed.paid, undefined);
    const blockNumber = view.head.number;
    for (const { address } of woken) parts.report({ kind: "detected", address, blockNumber });
  }
  // If the found money could not be saved, the step is repeated.
  recordStep(pass, step, probed);
  if (next) scan.seq = next.seq;
  await savePosition(pass);
  scan.isAtEnd = fresh.length < stepMax && read.length < rowsMax;
  return scan.isAtEnd;
}

function restartIfOutdated(scan: Scan, nowMs: number): Scan {
  const isDue = scan.isAtEnd && nowMs - scan.beganMs >= beginEveryMs;
  return scan.isOutdated && isDue ? { ...newScan(), beganMs: nowMs } : scan;
}

/**
 * Starts a new scan at the first open address. Does nothing if the last scan is still running or
 * began less than a minute ago.
 */
async function goBackToOpen({ parts, memory, nowSeconds }: ScanPass): Promise<void> {
  const { scan } = memory;
  const nowMs = parts.clock();
  if (!scan.isAtEnd || nowMs - scan.beganMs < beginEveryMs) return;
  const { chainId } = parts.chain;
  scan.openSearch = await parts.ledger.searchOpenRecords(chainId, scan.openSearch, nowSeconds);
  scan.seq = Math.min(scan.seq!, scan.openSearch.closedUpTo);
  scan.beganMs = nowMs;
}

/**
 * Removes the records of `step` from `again`. If a balance must be read again, adds its record to
 * the end of `again`.
 */
function recordStep({ parts, memory: { scan } }: ScanPass, step: Created[], probed: Probed): void {
  const now = parts.clock();
  for (const record of step) {
    const known = scan.again.get(record.address);
    scan.again.delete(record.address);
    if (probed.isWhole && probed.isCorroborated) continue;
    const latest = probed.isWhole ? now + uncorroboratedMs : Number.POSITIVE_INFINITY;
    const untilMs = probed.isWhole ? Math.min(known?.untilMs ?? latest, latest) : latest;
    if (untilMs > now) scan.again.set(record.address, { ...record, untilMs });
  }
  for (const address of scan.again.keys()) {
    if (scan.again.size <= againMax) break;
    scan.again.delete(address);
  }
}

/**
 * Saves the `seq` after which the scan continues if the executor restarts. The saved `seq` is lower
 * than that of each record in `again`. The saved `seq` never decreases, even while open addresses
 * are scanned again. If logs were missing, saves nothing, so that a restarted executor reads all
 * records again.
 */
async function savePosition({ parts, memory: { scan }, fence }: ScanPass): Promise<void> {
  const now = parts.clock();
  if (scan.isOutdated) return;
  if (scan.seq === scan.saved.seq || now - scan.saved.atMs < saveEveryMs) return;
  let seq = scan.seq!;
  for (const record of scan.again.values()) seq = Math.min(seq, record.seq - 1);
  if (seq > scan.saved.seq) await parts.ledger.saveScan(fence, [], seq);
  scan.saved = { seq: Math.max(seq, scan.saved.seq), atMs: now };
}

/** Reads the token and the amount of each record's intent. Omits corrupt records. */
async function readRequested({ parts }: ScanPass, fresh: readonly Created[]): Promise<Requested[]> {
  const records = await parts.ledger.findRecords(fresh.map(({ address }) => address));
  return records.flatMap(({ address, terms }) => {
    try {
      const { token, amount } = decodeRecord(fromHex(address), terms, parts);
      return [{ vault: address, token: lowerAddress(token), amount: BigInt(amount) }];
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      parts.report({ kind: "corrupt_record", address, cause: causeOf(error) });
      return [];
    }
  });
}

type Requested = VaultToken & { amount: bigint };
type Probed = { paid: JobHint[]; isWhole: boolean; isCorroborated: boolean };

/**
 * Reads the balances of addresses. Returns undefined if a read of several balances failed. The next
 * step then reads fewer balances.
 */
async function probe(pass: ScanPass, pairs: readonly Requested[]): Promise<Probed | undefined> {
  const { scan } = pass.memory;
  const found: Probed = { paid: [], isWhole: true, isCorroborated: true };
  try {
    for (const some of groupsOf(pairs, pairsPerCallMax)) {
      const { paid, isCorroborated } = await probeSome(pass, some);
      found.paid.push(...paid);
      found.isCorroborated &&= isCorroborated;
    }
    scan.stepMax = morePairs(scan.stepMax, rowsMax);
    return found;
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    scan.stepMax = fewerPairs(scan.stepMax, pairs.length);
    // A single address whose balance cannot be read is skipped and read again later.
    return pairs.length > 1 ? undefined : { ...found, isWhole: false };
  }
}

/** Returns a hint for each address for which at least one endpoint shows a balance. */
async function probeSome(pass: ScanPass, pairs: readonly Requested[]) {
  const { head, quorum } = pass.view;
  const all = await readHoldings(severalInTurn(pass, pass.memory.scan.turn++), pairs);
  const block = { number: head.number, timestamp: pass.nowSeconds };
  const paid = pairs.flatMap(({ vault, amount }, index) => {
    const native = all.map((each) => each[index]!.native).reduce(max);
    const balance = all.map((each) => each[index]!.balance ?? 0n).reduce(max);
    if (native === 0n && balance === 0n) return [];
    return [{ address: vault, block, isEnough: balance >= amount }];
  });
  return { paid, isCorroborated: all.length >= quorum };
}
