// Implements the command `launch`, which prepares a chain for the service. The command checks the
// endpoints and the cost, and deploys the contracts. Then it creates an address, waits for a
// payment, executes the address, and proves the outcome. The same command continues an interrupted
// launch. journal.ts stores what cannot be read from the chain.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AddressRecord,
  encodeExecution,
  fromHex,
  gasMargin,
  type Hex,
  makeRecord,
  toHex,
} from "executable-address";
import { formatUnits, paymentLink } from "executable-address/payment";
import { agreeOnReceipt, makeReceipt, ProofError, verifyReceipt } from "executable-address/proof";
import type { AddressStatus } from "executable-address/status";
import { factoryAddress } from "executable-address-contracts";
import { renderUnicodeCompact } from "uqr";
import { estimateGas, sendTransaction, waitForTransactionReceipt } from "viem/actions";
import { formatEther } from "viem/utils";
import { createAccount, findAccount } from "../accounts/account.ts";
import {
  bringThrough,
  openReader,
  openSender,
  plainError,
  revertDataOf,
  transportOf,
} from "../chain/bring.ts";
import { openChainRpc } from "../chain/rpc/chain-rpc.ts";
import { explainFailure } from "../chain/simulation/revert.ts";
import { openStore } from "../roles/open-store.ts";
import { InUseError, lockDirectory } from "../store/sqlite/server-lock.ts";
import type { Store } from "../store/store.ts";
import { hasSucceeded, openJournal, spentWei } from "./journal.ts";
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
import {
  type CostEstimate,
  endpointTable,
  estimateLaunch,
  estimateLines,
  inspectEndpoints,
  requireBalance,
  requireEndpoints,
} from "./preflight.ts";
import { inspectSent, settleSent } from "./sending.ts";

/**
 * Runs a launch.
 *
 * @throws an error whose message is one sentence about what the operator must change
 */
export async function launch(options: LaunchOptions, outside: Outside) {
  const { config, report } = outside;
  const chain = findChain(config, options);
  const run = await openLaunch(chain, options, outside);
  const { journal } = run;
  report(`Endpoints of ${chain.name} (chain ${chain.chainId}):`);
  const endpoints = await inspectEndpoints(chain);
  report(endpointTable(endpoints));
  requireEndpoints(endpoints);

  const record = makeRecord(journal.state.intent ?? (await newIntent(run)));
  const state = journal.state.intent ? (await readState(run, record)).state : "unfunded";
  const cost = await estimate(run, record, state === "executed");
  report(`Cost of the remaining steps for the wallet ${run.wallet}:\n${estimateLines(cost)}`);
  if (options.isResume) await printProgress(run, cost, state);
  if (options.isDryRun) return { chainId: chain.chainId, wallet: run.wallet, endpoints, cost };
  if (state === "expired" || state === "recovered") {
    throw new Error(
      `the address ${record.address} expired without an execution. To use a new address, move ` +
        `${journalFile(config, chain)} to another folder, and run the command again. To send the ` +
        "payments at the old address back to the wallet, use `executable-address recover`",
    );
  }
  requireBalance(run.wallet, cost);
  return withLock(run, async () => {
    // Another launch may have changed the journal before this launch locked the directory.
    journal.state = (await openJournal(journalFile(config, chain), journal.state)).state;
    return carryOut(run);
  });
}

async function carryOut(run: Launch) {
  const { journal, chain, report, wallet } = run;
  const store = await openStore(run.config, false);
  try {
    const brought = await bringContracts(run);
    report(
      "The deployer, the factory, and the periphery are deployed, and their code was verified.",
    );
    if (!journal.state.intent) await journal.save({ intent: await newIntent(run) });
    const record = makeRecord(journal.state.intent!);
    await saveAddress(run, record, store);
    showAddress(run, record);
    const executed = await executePaid(run, record);
    const proved = await proveOutcome(run, record);
    const spent = formatEther(spentWei(journal.state));
    report(`The wallet ${wallet} spent ${spent} in total. Next: ${nextSteps(run)}`);
    const { deployer, factory, periphery } = brought;
    const { chainId } = chain;
    return { chainId, wallet, deployer, factory, periphery, ...executed, ...proved, spent };
  } finally {
    await store.close();
  }
}

/**
 * Deploys the missing contracts. Does not repeat a mined deployment unless a reorganization removed
 * it.
 */
async function bringContracts(run: Launch) {
  const { chain, request, key } = run;
  await settleSent(run.sending);
  const rpc = { ...openChainRpc(chain.rpcUrls), request };
  return bringThrough(openReader(request), rpc, (chainId) =>
    openSender(chainId, transportOf(request), key),
  );
}

const nextSteps = ({ journal }: Launch) =>
  [
    "",
    "  docs/production.md     the way to mainnet: settings, executor, alerts",
    "  docs/webhooks.md       a webhook endpoint that is notified of each payment",
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

async function printProgress(run: Launch, { steps }: CostEstimate, state: string): Promise<void> {
  const { state: found, unmined } = await inspectSent(run.sending);
  const { sent, intent, receipt } = found;
  const missing = steps.filter(({ name }) => name !== "execution").map(({ name }) => name);
  const mined = sent.filter((each) => each.mined).length;
  const spent = formatEther(spentWei(found));
  run.report(
    [
      "State of the launch:",
      `  transactions  ${sent.length} sent, ${mined} mined, ${spent} spent`,
      ...unmined.map((line) => `                ${line}`),
      `  contracts     ${missing.length === 0 ? "all deployed" : `missing: ${missing.join(", ")}`}`,
      `  address       ${intent ? `${makeRecord(intent).address}, ${state}` : "not created yet"}`,
      `  receipt       ${receipt ?? "not created yet"}`,
    ].join("\n"),
  );
}

/** @throws if another launch on this chain is running with the same data directory */
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

/**
 * The email address of the account that owns the launch's address. Nobody can sign in to this
 * account, because it has no password and no API key.
 */
const email = "launch@localhost.localdomain";

/** Saves the record, with a separate account as its owner. The call is idempotent. */
async function saveAddress(
  { journal }: Launch,
  { address, terms }: AddressRecord,
  store: Store,
): Promise<void> {
  const atMs = Date.now();
  const created = await createAccount(store.db, email, { atMs });
  const { accountId } = created ?? (await findAccount(store.db, { email }))!;
  await store.saveRecord({
    ...{ address: fromHex(address, ["address"]), terms: fromHex(terms, ["terms"]) },
    ...{ accountId, createdAtMs: atMs },
  });
  await journal.save({ saved: { address, accountId } });
}

/** Shows the address as text, as a QR code, and in links. */
function showAddress({ chain, config, report }: Launch, record: AddressRecord): void {
  const { address, intent } = record;
  const token = chain.tokens.find((each) => each.address === intent.token)!;
  const until = new Date(intent.expirationTimestamp * 1000).toISOString();
  report(renderUnicodeCompact(address));
  report(
    [
      `Send ${formatUnits(intent.amount, token.decimals)} ${token.symbol} on ${chain.name}, ` +
        `token ${token.address}, to`,
      `  ${address}`,
      `by ${until}. The money is forwarded to ${intent.recovery}.`,
      `  payment page (of the running service)   ${config.publicUrl}/a/${address}`,
      `  payment link (ERC-681)                  ${paymentLink(record, intent.amount)}`,
      ...(chain.explorer
        ? [`  block explorer                          ${chain.explorer}/address/${address}`]
        : []),
    ].join("\n"),
  );
}

/**
 * The maximum number of consecutive failed attempts to read the address. Together, these attempts
 * take about a minute. An attempt fails if an endpoint does not respond, or if the endpoints are at
 * different blocks.
 */
const attemptsMax = 30;

/**
 * Waits for the payment, and executes the address unless somebody else executes it first.
 *
 * @throws if the address expires before it is executed, or if the execution fails
 */
async function executePaid(run: Launch, record: AddressRecord) {
  const { report, pollMs } = run;
  let shown: string | undefined;
  let lags = 0;
  for (; ; await sleep(pollMs)) {
    const status = await readPatiently(run, record);
    if (status.state === "executed") break;
    if (status.state === "funded") {
      const isExecuted = hasSucceeded(run.journal.state, toHex(encodeExecution(record.intent)));
      if (!isExecuted || lags === attemptsMax) await execute(run, record);
      else if (++lags === 1)
        report("The execution is mined. Waiting until the other endpoints show it.");
    } else if (status.state !== "unfunded" && status.state !== "partially_funded") {
      throw new Error(`${record.address}: expected the state funded, found ${status.state}`);
    } else if (shown !== status.balance) {
      shown = status.balance;
      report(`Waiting for the payment: ${status.balance} of ${record.intent.amount} base units.`);
    }
  }
  return { address: record.address };
}

/**
 * Returns the status of the address. Repeats an attempt that fails with a {@link ProofError}.
 *
 * @throws {ProofError} if {@link attemptsMax} attempts fail
 */
async function readPatiently(run: Launch, record: AddressRecord): Promise<AddressStatus> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readState(run, record);
    } catch (error) {
      if (!(error instanceof ProofError) || attempt === attemptsMax) throw error;
      if (attempt === 1) run.report(`Trying again for a minute: ${error.message}`);
    }
    await sleep(run.pollMs);
  }
}

async function execute(run: Launch, record: AddressRecord): Promise<void> {
  const { address, intent } = record;
  const { chain, key, request, wallet } = run;
  // A reorganization may have removed the factory. Without the factory, the execution's transaction
  // would succeed without any effect.
  await bringContracts(run);
  const data = toHex(encodeExecution(intent));
  if (hasSucceeded(run.journal.state, data)) {
    throw new Error(
      `the execution is mined, but ${run.quorum} endpoints do not show it: run the command again ` +
        "later, or name other endpoints with --rpc",
    );
  }
  const sender = openSender(chain.chainId, transportOf(request), key);
  const call = { to: factoryAddress, data };
  try {
    const estimate = await estimateGas(sender, { account: wallet, ...call, prepare: false });
    const gas = BigInt(Math.ceil(Number(estimate) * gasMargin));
    run.report("The payment arrived. Executing.");
    const hash = await sendTransaction(sender, { ...call, gas });
    await waitForTransactionReceipt(sender, { hash });
  } catch (error) {
    // The execution fails if another executor was faster.
    const { state } = await readPatiently(run, record).catch((unread) => {
      // The reason of a revert helps the operator more than the reason why the state is unknown.
      throw revertDataOf(error) ? explainRejection(error, address) : unread;
    });
    if (state !== "executed") throw explainRejection(error, address);
  }
}

/**
 * If the execution was not sent because it would revert, returns an error with the reason. For
 * example, a token rejects transfers while it is paused, or if it blocks the recipient.
 */
function explainRejection(error: unknown, address: Hex): unknown {
  const data = revertDataOf(error);
  if (!data) return plainError(error);
  return new Error(
    `the execution would revert with "${explainFailure(data).reason}" and was not sent: the ` +
      `payment stays at ${address}, so run the command again later`,
  );
}

/**
 * Creates a proof of the outcome and writes the proof to a file. Verifies the proof with the hashes
 * of blocks on which a quorum of endpoints agrees.
 */
async function proveOutcome(run: Launch, record: AddressRecord) {
  const { rpcs, quorum, journal, config, chain, report, pollMs } = run;
  for (let attempt = 1; ; attempt++) {
    try {
      const receipt = await makeReceipt(record, { rpcs, quorum });
      const hashes = await agreeOnReceipt(receipt, { rpcs, quorum });
      const proved = verifyReceipt(receipt, hashes);
      if (proved.outcome !== "executed" || proved.payments.length === 0) {
        const found = `${proved.outcome} and ${proved.payments.length} payments`;
        throw new ProofError("unproved", `expected an execution and a payment, found ${found}`);
      }
      const file = join(config.dataDirectory, `launch-${chain.chainId}-receipt.json`);
      writeFileSync(file, `${JSON.stringify(receipt, null, 2)}\n`, { mode: 0o600, flush: true });
      await journal.save({ receipt: file });
      const { execution, payments, block } = proved;
      const hash = execution!.transactionHash;
      const at = `${block.number} ${block.hash}`;
      const paid = payments.map(({ transactionHash }) => transactionHash);
      report(
        [
          `Proven with ${quorum} of ${rpcs.length} endpoints at block ${at}:`,
          `  ${record.address} has the code of an executed vault`,
          `  executed by ${linkTo(run, hash)}`,
          ...paid.map((each) => `  paid by     ${linkTo(run, each)}`),
        ].join("\n"),
      );
      const transactionHash = hash;
      return { outcome: proved.outcome, transactionHash, payments: paid, block, receipt: file };
    } catch (error) {
      if (!(error instanceof ProofError) || attempt === attemptsMax) throw error;
    }
    await sleep(pollMs);
  }
}

const linkTo = ({ chain }: Launch, hash: Hex) =>
  chain.explorer ? `${chain.explorer}/tx/${hash}` : hash;
