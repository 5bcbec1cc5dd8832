// The operator's commands for the executor, for example to create its key or to pause it. No
// command needs a running executor.

import { writeFileSync } from "node:fs";
import { formatAddress, fromHex, type Hex, parseAddress } from "executable-address";
import type { Command, CommandContext } from "../admin/command.ts";
import { readChains } from "../chain/chains.ts";
import { dateOf } from "../flow/days.ts";
import { lowerAddress } from "../flow/lower-address.ts";
import { findAnchor } from "../follow/anchors.ts";
import { findNewestSeq } from "../store/find-records.ts";
import { decodeRecord, ownFactory } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import { readScannedUntil } from "./ledger/detected.ts";
import { countJobs, dropJob, retryJob } from "./ledger/jobs.ts";
import { isPaused, listLeases, setPaused } from "./ledger/lease.ts";
import { listInFlight } from "./ledger/purposes.ts";
import { countOutcomes } from "./ledger/settlements.ts";
import { listSpending, readAccountSpending, readReport } from "./ledger/spending.ts";
import type { ExecutorConfig } from "./start.ts";

/** @param readConfig reads the executor's settings, including its key */
export const dryRunCommand = (readConfig: () => ExecutorConfig): Command => ({
  words: "executor dry-run",
  does:
    "Shows the transactions that the executor would send for due addresses now, or after a " +
    "pause. Omits returns of reported tokens, replacements, and nonce gap fills. Sends nothing.",
  async run({ store, chainsFile }) {
    const { dryRunAll } = await import("./dry-run.ts");
    const chains = readChains(chainsFile);
    return dryRunAll({ store, chains, factory: ownFactory.factory, config: readConfig() });
  },
});

export const executorCommands: Command[] = [
  {
    words: "executor new-key",
    does: "Writes the executor's new key to an encrypted file, and prints its address.",
    opensNoStore: true,
    options: { keystore: "FILE", "password-file": "FILE" },
    async run(_, { options }) {
      const { writeNewKey } = await import("./transactions/keystore.ts");
      return { address: formatAddress(writeNewKey(options.keystore!, options["password-file"]!)) };
    },
  },
  {
    words: "executor status",
    does: "Shows the state of the executor on each chain.",
    run: async ({ store }) => {
      const leases = await listLeases(store.db);
      return Promise.all(leases.map((lease) => readStatus(store, lease)));
    },
  },
  {
    words: "executor report",
    does: "Lists gas costs and tips by day, chain, and account.",
    options: { csv: "FILE" },
    optional: ["csv"],
    async run({ store }, { options }) {
      const rows = await readReport(store.db);
      if (options.csv === undefined) return rows;
      writeFileSync(options.csv, formatCsv(rows));
      return { file: options.csv, rows: rows.length };
    },
  },
  ...(["pause", "resume"] as const).map(
    (word): Command => ({
      words: `executor ${word}`,
      does:
        `${word === "pause" ? "Stops" : "Resumes"} the executor's transactions on one chain or ` +
        "on all chains.",
      options: { chain: "ID" },
      optional: ["chain"],
      async run({ store, chainsFile }, { options }) {
        const chains = await findChainsToPause(store, chainsFile, options.chain);
        for (const chainId of chains) await setPaused(store.db, chainId, word === "pause");
        return { chains, paused: word === "pause" };
      },
    }),
  ),
  {
    words: "executor retry",
    does: "Makes the executor process an address immediately, even if it was dropped.",
    options: { address: "A", chain: "ID" },
    optional: ["chain"],
    async run(context, { options }) {
      const { address, chainId } = await findJob(context, options);
      await retryJob(context.store.db, chainId, lowerAddress(address));
      return { address, chainId, due: "now" };
    },
  },
  {
    words: "executor drop",
    does: "Stops the transactions for an address until `executor retry`.",
    options: { address: "A", chain: "ID" },
    optional: ["chain"],
    async run(context, { options }) {
      const { address, chainId } = await findJob(context, options);
      await dropJob(context.store.db, chainId, lowerAddress(address));
      return { address, chainId, due: "never" };
    },
  },
];

/** Writes CSV (RFC 4180). No field of a report contains a comma or a quote. */
export function formatCsv(rows: Awaited<ReturnType<typeof readReport>>): string {
  const head = ["day", "chainId", "accountId", "gasWei", "tipsWei", "notCoveredWei"] as const;
  const lines = rows.map((row) => head.map((name) => row[name]).join(","));
  return `${[head.join(","), ...lines].join("\r\n")}\r\n`;
}

/**
 * Returns the chain given by `--chain`. Without this option, returns every chain on which an
 * executor has run. If none has run yet, returns all chains in the chains file.
 *
 * @throws {Error} if `--chain` specifies an unknown chain. Without `--chain`, throws if the chains
 *   file and the database list different chains. Such a chains file probably belongs to another
 *   service
 */
async function findChainsToPause(
  { db }: Store,
  chainsFile: string,
  wanted: string | undefined,
): Promise<number[]> {
  const listed = readChains(chainsFile).map((chain) => chain.chainId);
  const leases = await listLeases(db);
  const known = leases.length === 0 ? listed : leases.map((lease) => lease.chain_id);
  if (wanted !== undefined) {
    if (known.includes(Number(wanted))) return [Number(wanted)];
    if (leases.length === 0) throw noChain(wanted, chainsFile, listed);
    throw new Error(
      `no executor that uses this database has run on chain ${wanted}; ` +
        `expected one of: ${known.join(", ")}`,
    );
  }
  const inOrder = (chains: number[]) => chains.toSorted((a, b) => a - b).join(", ");
  if (inOrder(known) === inOrder(listed)) return known;
  throw new Error(
    `the executors that use this database have run on the chains ${inOrder(known)}, but ` +
      `${chainsFile} lists the chains ${inOrder(listed)}; set CHAINS_FILE to the file that the ` +
      "service uses, or pass --chain",
  );
}

const noChain = (found: unknown, file: string, known: readonly number[]) =>
  new Error(`${file} does not list chain ${found}; it lists ${known.join(", ")}`);

/** @throws {Error} if an option is invalid or the address has no stored intent */
async function findJob(
  { store, chainsFile }: CommandContext,
  options: Record<string, string | undefined>,
): Promise<{ address: Hex; chainId: number }> {
  const address = parseOption(options.address);
  const terms = await store.findTerms(fromHex(address));
  if (!terms) throw new Error(`no intent is stored for ${address}`);
  const own = decodeRecord(fromHex(address), terms, ownFactory).chainId;
  const chainId = options.chain === undefined ? own : Number(options.chain);
  const known = readChains(chainsFile).map((chain) => chain.chainId);
  if (!known.includes(chainId)) {
    const found = options.chain ?? `${own} of ${address}`;
    throw noChain(found, chainsFile, known);
  }
  return { address, chainId };
}

/** @throws an error that names the option */
function parseOption(text: string | undefined): Hex {
  if (!text) throw new Error("expected --address A, found no --address");
  try {
    return parseAddress(text);
  } catch (error) {
    throw new Error(`--address: ${(error as Error).message}`);
  }
}

async function readStatus(
  { db }: Pick<Store, "db">,
  lease: { chain_id: number; holder: string; epoch: number },
) {
  const { chain_id: chainId } = lease;
  const cursor = await findAnchor(db, chainId);
  const unscanned = (await findNewestSeq(db)) - (await readScannedUntil(db, chainId));
  const spent = await listSpending(db, chainId, 7);
  const charged = [...(await readAccountSpending(db, chainId, spent[0]?.day ?? 0))];
  return {
    chainId,
    paused: await isPaused(db, chainId),
    holder: lease.holder || null,
    epoch: lease.epoch,
    sweptBlock: cursor?.number ?? null,
    recordsToScan: unscanned,
    jobs: await countJobs(db, chainId),
    inFlight: await listInFlight(db, chainId),
    outcomes: await countOutcomes(db, chainId),
    gasPaid: spent.map(({ day, wei }) => ({ day: dateOf(day), wei })),
    gasPaidFor: charged
      .sort(([, a], [, b]) => (a.total < b.total ? 1 : -1))
      .slice(0, 20)
      .map(([accountId, { total, tips }]) => ({
        accountId,
        wei: `${total}`,
        failedTipsWei: `${tips}`,
      })),
  };
}
