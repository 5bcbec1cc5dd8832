// Finds payments. The chain's loop (../follow/) reads the logs of new blocks, and `followTurn`
// connects the loop to the executor's ledger. In addition, `scanNewRecords` reads the balance of
// each new record once. This scan is necessary because anyone can derive an address offline and pay
// it before it is created here. When the loop reads the log of such a payment, there is no matching
// record yet.
//
// Together, the logs and the scan miss no payment. `scanNewRecords` first reads the new
// records, and then the loop's cursor. Payments above the cursor are found by the loop, which reads
// these blocks when the records already exist. Payments up to the cursor are part of the balance,
// because balances are never read at a head below the cursor.
//
// Up to 150 balance reads share one eth_call, and the number of balance reads per pass is limited.
// If very many records are created, reading their balances takes many passes, but does not delay
// other work.
//
// While the loop is many blocks behind, the scan starts again at the first open address, so that it
// finds payments in blocks that the loop has not read yet.

import { fromHex, type Hex } from "executable-address";
import { ChainUnavailable } from "../../chain/rpc/json-rpc.ts";
import {
  fewerHolders,
  type Holder,
  holdersMax,
  moreHolders,
  readHoldings,
} from "../../chain/status/probe.ts";
import { hourMs } from "../../flow/days.ts";
import { groupsOf, statementRows } from "../../flow/groups.ts";
import type { FollowMemory, Turn } from "../../follow/parts.ts";
import type { Created } from "../../store/find-records.ts";
import { causeOf, decodeRecord } from "../../store/record.ts";
import { CorruptError } from "../../store/store.ts";
import type { JobHint } from "../ledger/jobs.ts";
import { max } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import { ofSeveral } from "./vaults.ts";

/**
 * Returns the parameters for one turn of the chain's loop, which then saves payments in the
 * executor's ledger.
 */
export function followTurn(pass: Pass<ScanMemory & { follow: FollowMemory }>): Turn {
  const { parts, memory, fence, view } = pass;
  const { ledger, chain, signers, report, tuning } = parts;
  const { chainId } = chain;
  // `nowSeconds` includes the time since the head, which only this host's clock measures, so the
  // due time is at most the head's timestamp.
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
        // The hints are saved in several short commits, because requests that create addresses wait
        // for each commit, and a stranger can pay thousands of addresses in one block.
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

/**
 * If fewer endpoints than a quorum answered for a record, its balance is read repeatedly for this
 * time.
 */
const uncorroboratedMs = hourMs;

/**
 * The maximum length of the list `again`. If the list becomes longer, its oldest entries are
 * removed.
 */
const againMax = 100_000;

/** The maximum number of records read in one step, including records for other chains. */
const rowsMax = 500;

/** The minimum time between two saves of the position. */
const saveEveryMs = 10_000;

/**
 * The minimum time between the starts of two scans. A gap in the logs causes a scan of all records,
 * which needs one `eth_call` for every 150 records. If each block started a new scan, no scan might
 * ever end.
 */
const beginEveryMs = 60_000;

/**
 * If the loop is more than this number of blocks behind, the balances of open addresses are read
 * again.
 */
const behindBlocksMax = 100;

/** The progress of the scan. Times are in milliseconds by the process's clock. */
type Scan = {
  /**
   * The balances of all records up to this `seq` were read, except for the records in `again`.
   * `seq` is undefined until the saved value has been read from the ledger.
   */
  seq: number | undefined;
  /** The `seq` that the ledger contains, and the time at which it was written. */
  saved: { seq: number; atMs: number };
  /**
   * Records whose balances have to be read again. If too few endpoints answered, a balance is read
   * again until `untilMs`. If no endpoint answered, the balance is read again without a time limit.
   */
  again: Map<Hex, Created & { untilMs: number }>;
  /** Incremented with each read, so that each read starts with another endpoint. */
  turn: number;
  beganMs: number;
  /** Whether the last step reached the newest record. */
  isAtEnd: boolean;
  /** Whether a gap in the logs was found since the scan began, so that a new scan is necessary. */
  isOutdated: boolean;
  /**
   * The number of records per step, which is reduced while endpoints fail to answer larger steps.
   */
  stepMax: number;
  /**
   * At the time `seconds` by the chain's clock, all addresses up to the record `seq` were closed.
   */
  closed: { seq: number; seconds: number };
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
  stepMax: holdersMax,
  closed: { seq: 0, seconds: 0 },
});

/**
 * Reads the balances of up to `tuning.recordsPerPass` records: new records or, if there are none,
 * the records in the list `again`.
 *
 * @param blocksBehind the number of blocks that the chain's loop has not read yet
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
  const probed = await probe(pass, await readHolders(pass, step));
  if (!probed) return false;
  if (probed.paid.length > 0) {
    const woken = await ledger.saveScan(pass.fence, probed.paid, undefined);
    const blockNumber = view.head.number;
    for (const { address } of woken) parts.report({ kind: "detected", address, blockNumber });
  }
  // The progress is recorded after the ledger has saved the hints. If the save fails, the step is
  // repeated.
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
 * If the last scan has ended, starts a new scan at the first open address, at most once a minute.
 */
async function goBackToOpen({ parts, memory, nowSeconds }: ScanPass): Promise<void> {
  const { scan } = memory;
  const nowMs = parts.clock();
  if (!scan.isAtEnd || nowMs - scan.beganMs < beginEveryMs) return;
  const { chainId } = parts.chain;
  // If the chain's clock went back, it was wrong before, so some addresses that seemed closed may
  // be open.
  const seq = nowSeconds < scan.closed.seconds ? 0 : scan.closed.seq;
  const closed = await parts.ledger.passClosed(chainId, seq, nowSeconds);
  scan.closed = { seq: closed.seq, seconds: nowSeconds };
  scan.seq = Math.min(scan.seq!, closed.seq);
  scan.beganMs = nowMs;
}

/**
 * Updates the list `again` after a step. Records that must be read again move to the end of the
 * list. The other records in the step are removed from the list.
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
 * Saves the position at which the scan continues after a restart. This position is below all
 * records that have to be read again. The saved position never moves back, even while a scan of
 * open addresses is at a lower position. After a gap in the logs, no position is saved, so that a
 * restarted executor reads all records.
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

/** Reads the token and the amount of each record's intent. Corrupt records are omitted. */
async function readHolders({ parts }: ScanPass, fresh: readonly Created[]): Promise<Wanting[]> {
  const records = await parts.ledger.findRecords(fresh.map(({ address }) => address));
  return records.flatMap(({ address, terms }) => {
    try {
      const { token, amount } = decodeRecord(fromHex(address), terms, parts);
      return [{ vault: address, token: token.toLowerCase() as Hex, amount: BigInt(amount) }];
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      parts.report({ kind: "corrupt_record", address, cause: causeOf(error) });
      return [];
    }
  });
}

type Wanting = Holder & { amount: bigint };
type Probed = { paid: JobHint[]; isWhole: boolean; isCorroborated: boolean };

/**
 * Reads the balances of vaults. If the endpoints could not read this number of vaults, returns
 * undefined, and the next step is smaller.
 */
async function probe(pass: ScanPass, holders: readonly Wanting[]): Promise<Probed | undefined> {
  const { scan } = pass.memory;
  const found: Probed = { paid: [], isWhole: true, isCorroborated: true };
  try {
    for (const some of groupsOf(holders, holdersMax)) {
      const { paid, isCorroborated } = await probeSome(pass, some);
      found.paid.push(...paid);
      found.isCorroborated &&= isCorroborated;
    }
    scan.stepMax = moreHolders(scan.stepMax, rowsMax);
    return found;
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    scan.stepMax = fewerHolders(scan.stepMax, holders.length);
    // If no endpoint answers even for a single vault, the vault is skipped and read again later.
    return holders.length > 1 ? undefined : { ...found, isWhole: false };
  }
}

/** Returns a hint for each vault for which at least one endpoint shows a balance. */
async function probeSome(pass: ScanPass, holders: readonly Wanting[]) {
  const { head, quorum } = pass.view;
  const all = await readHoldings(ofSeveral(pass, pass.memory.scan.turn++), holders);
  const block = { number: head.number, timestamp: pass.nowSeconds };
  const paid = holders.flatMap(({ vault, amount }, index) => {
    const native = all.map((each) => each[index]!.native).reduce(max);
    const balance = all.map((each) => each[index]!.balance ?? 0n).reduce(max);
    if (native === 0n && balance === 0n) return [];
    return [{ address: vault, block, isEnough: balance >= amount }];
  });
  return { paid, isCorroborated: all.length >= quorum };
}
