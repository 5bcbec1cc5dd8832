// Collects all database functions that the executor uses. Each commit leaves the tables consistent,
// so a process can be killed at any time.
//
// All functions are in one object, so that the simulator in test/ can wrap this object. The
// simulator stops an executor before or after any call, as if the process were killed.

import type { Kysely } from "kysely";
import { findTokensOf } from "../../events/misdirected.ts";
import { searchOpenRecords } from "../../events/open-records.ts";
import { isBlockAwaited } from "../../events/watches.ts";
import { findAnchor } from "../../follow/anchors.ts";
import {
  findCreated,
  findNewestSeq,
  findOldestCreation,
  findRecords,
  findRequestedTokens,
  matchAddresses,
} from "../../store/find-records.ts";
import type { Dialect, Tables } from "../../store/tables.ts";
import * as detected from "./detected.ts";
import * as due from "./due.ts";
import * as jobs from "./jobs.ts";
import * as lease from "./lease.ts";
import * as purposes from "./purposes.ts";
import * as reported from "./reported-tokens.ts";
import * as settlements from "./settlements.ts";
import * as spending from "./spending.ts";

export type Ledger = ReturnType<typeof openLedger>;

export function openLedger(db: Kysely<Tables>, dialect: Dialect) {
  return {
    findLease: lease.findLease.bind(null, db),
    takeLease: lease.takeLease.bind(null, db),
    isPaused: lease.isPaused.bind(null, db),
    renewLease: lease.renewLease.bind(null, db),
    releaseLease: lease.releaseLease.bind(null, db),
    matchAddresses: matchAddresses.bind(null, db, dialect),
    findAnchor: findAnchor.bind(null, db),
    findMisdirectedTokens: findTokensOf.bind(null, db),
    savePayments: detected.savePayments.bind(null, db),
    saveBalances: detected.saveBalances.bind(null, db),
    forgetAbove: detected.forgetAbove.bind(null, db),
    findRequestedTokens: findRequestedTokens.bind(null, db),
    findOldestCreation: findOldestCreation.bind(null, db),
    findNewestSeq: findNewestSeq.bind(null, db),
    readScannedUntil: detected.readScannedUntil.bind(null, db),
    findCreated: findCreated.bind(null, db),
    findRecords: findRecords.bind(null, db),
    saveScan: detected.saveScan.bind(null, db),
    searchOpenRecords: searchOpenRecords.bind(null, db),
    isBlockAwaited: isBlockAwaited.bind(null, db),
    findDueJobs: due.findDueJobs.bind(null, db),
    takeReported: reported.takeReported.bind(null, db),
    postponeReported: reported.postponeReported.bind(null, db),
    countReturns: reported.countReturns.bind(null, db),
    pullLate: due.pullLate.bind(null, db),
    readWaitedSeconds: due.readWaitedSeconds.bind(null, db),
    readHistory: jobs.readHistory.bind(null, db),
    updateJobs: jobs.updateJobs.bind(null, db),
    openPurpose: purposes.openPurpose.bind(null, db),
    addTransaction: purposes.addTransaction.bind(null, db),
    findPending: purposes.findPending.bind(null, db),
    findConfirmedFrom: purposes.findConfirmedFrom.bind(null, db),
    findConfirmedAbove: purposes.findConfirmedAbove.bind(null, db),
    readNextNonce: purposes.readNextNonce.bind(null, db),
    noteMined: settlements.noteMined.bind(null, db),
    confirmPurpose: settlements.confirmPurpose.bind(null, db),
    settlePurpose: settlements.settlePurpose.bind(null, db),
    adoptPurpose: settlements.adoptPurpose.bind(null, db),
    recordForeign: settlements.recordForeign.bind(null, db),
    reopenPurpose: settlements.reopenPurpose.bind(null, db),
    readSpending: spending.readSpending.bind(null, db),
    readAccountSpending: spending.readAccountSpending.bind(null, db),
  };
}
