// Takes an operator from a funded key to a proved payment on a chain, in repeatable steps: check
// endpoints and cost, bring the contracts, make an address, wait for its payment, execute it, and
// prove the outcome. journal.ts keeps what the chain does not show.

import { existsSync, mkdirSync } from "node:fs";
import { type AddressRecord, makeRecord } from "executable-address";
import { formatEther } from "viem/utils";
import { bringThrough, openReader, openSender, transportOf } from "../chain/bring.ts";
import { openChainRpc } from "../chain/rpc/chain-rpc.ts";
import { openStore } from "../roles/open-store.ts";
import { InUseError, lockDirectory } from "../store/sqlite/server-lock.ts";
import { settleSent, spentWei } from "./journal.ts";
import {
  findChain,
  journalFile,
  type Launch,
  type LaunchOptions,
  newIntent,
  type Outside,
  openLaunch,
  readState,
} from "./parts.ts";
import { executePaid, proveOutcome, saveAddress, showAddress } from "./payment.ts";
import {
  type CostEstimate,
  endpointTable,
  estimateLaunch,
  estimateLines,
  inspectEndpoints,
  requireBalance,
  requireEndpoints,
} from "./preflight.ts";

/** @throws an error of one sentence that says what to change */
export async function launch(options: LaunchOptions, outside: Outside) {
  const { config, say } = outside;
  const chain = findChain(config, options);
  const run = await openLaunch(chain, options, outside);
  const { journal } = run;
  say(`Endpoints of ${chain.name} (chain ${chain.chainId}):`);
  const endpoints = await inspectEndpoints(chain);
  say(endpointTable(endpoints));
  requireEndpoints(endpoints);

  const record = makeRecord(journal.state.intent ?? (await newIntent(run)));
  const state = journal.state.intent ? (await readState(run, record)).state : "unfunded";
  const cost = await estimate(run, record, state === "executed");
  say(`Cost of the remaining steps for the wallet ${run.wallet}:\n${estimateLines(cost)}`);
  if (options.isResume) sayProgress(run, cost, state);
  if (options.isDryRun) return { chainId: chain.chainId, wallet: run.wallet, endpoints, cost };
  if (state === "expired" || state === "recovered") {
    throw new Error(
      `the address ${record.address} expired unpaid: move ${journalFile(config, chain)} away and ` +
        "run the command again for a new one; money that arrives is returned to the wallet by " +
        "the command recover of the command line",
    );
  }
  requireBalance(run.wallet, cost);
  return withLock(run, () => carryOut(run));
}

async function carryOut(run: Launch) {
  const { journal, chain, say, wallet } = run;
  const store = await openStore(run.config, false);
  try {
    await settleSent(run.request, journal, run.pollMs);
    const rpc = { ...openChainRpc(chain.rpcUrls.slice(0, 1)), request: run.request };
    const transport = transportOf(run.request);
    const brought = await bringThrough(openReader(run.request), rpc, (chainId) =>
      openSender(chainId, transport, run.key),
    );
    say("The deployer, the factory, and the periphery are deployed, and their code was verified.");
    if (!journal.state.intent) await journal.save({ intent: await newIntent(run) });
    const record = makeRecord(journal.state.intent!);
    await saveAddress(run, record, store);
    showAddress(run, record);
    const executed = await executePaid(run, record, () => readState(run, record));
    const proved = await proveOutcome(run, record);
    const spent = formatEther(spentWei(journal.state));
    say(`The wallet ${wallet} spent ${spent} in total. Next: ${nextSteps(run)}`);
    const { deployer, factory, periphery } = brought;
    const { chainId } = chain;
    return { chainId, wallet, deployer, factory, periphery, ...executed, ...proved, spent };
  } finally {
    await store.close();
  }
}

const nextSteps = ({ journal }: Launch) =>
  [
    "",
    "  docs/production.md     the way to mainnet: settings, executor, alerts",
    "  docs/webhooks.md       an endpoint that is told of each payment",
    "  docs/self-hosting.md   backups: admin backup, admin export",
    `  ${journal.state.receipt}   keep this receipt, which proves the payment without the service`,
  ].join("\n");

const estimate = (run: Launch, record: AddressRecord, isExecuted: boolean): Promise<CostEstimate> =>
  estimateLaunch(
    {
      ...{ chain: run.chain, wallet: run.wallet, record },
      rpc: openChainRpc(run.chain.rpcUrls),
      reader: openReader(run.request),
    },
    isExecuted,
  );

function sayProgress({ journal, say }: Launch, { steps }: CostEstimate, state: string): void {
  const { sent, intent, receipt } = journal.state;
  const missing = steps.filter(({ name }) => name !== "execution").map(({ name }) => name);
  const mined = sent.filter((each) => each.mined).length;
  const spent = formatEther(spentWei(journal.state));
  say(
    [
      "Where the launch stands:",
      `  transactions  ${sent.length} sent, ${mined} mined, ${spent} spent`,
      `  contracts     ${missing.length === 0 ? "all deployed" : `missing: ${missing.join(", ")}`}`,
      `  address       ${intent ? `${makeRecord(intent).address}, ${state}` : "not created yet"}`,
      `  receipt       ${receipt ?? "not created yet"}`,
    ].join("\n"),
  );
}

/** @throws if another launch on this chain runs beside the database */
async function withLock<Result>(run: Launch, carry: () => Promise<Result>): Promise<Result> {
  const { config, chain } = run;
  if (!existsSync(config.dataDirectory)) mkdirSync(config.dataDirectory, { mode: 0o700 });
  try {
    const leave = lockDirectory(config.dataDirectory, `launch-${chain.chainId}.lock`);
    return await carry().finally(leave);
  } catch (error) {
    if (!(error instanceof InUseError)) throw error;
    throw new Error(
      `another launch on ${chain.name} is running with DATA_DIR ${config.dataDirectory}`,
    );
  }
}
