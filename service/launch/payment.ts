// The second half of a launch: an address that is saved and shown, its payment and execution, and
// the proof of the outcome.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AddressRecord, encodeExecution, fromHex, type Hex, toHex } from "executable-address";
import { formatUnits, paymentLink } from "executable-address/payment";
import { agreeOnReceipt, makeReceipt, ProofError, verifyReceipt } from "executable-address/proof";
import type { AddressStatus } from "executable-address/status";
import { factoryAddress } from "executable-address-contracts";
import { renderUnicodeCompact } from "uqr";
import { estimateGas, sendTransaction, waitForTransactionReceipt } from "viem/actions";
import { createAccount, findAccount } from "../accounts/account.ts";
import { openSender, transportOf } from "../chain/bring.ts";
import { gasMargin } from "../chain/execution-gas.ts";
import type { Store } from "../store/store.ts";
import type { Launch } from "./parts.ts";

/** The account that creates the address. It has no API key and no password. */
const email = "launch@localhost.localdomain";

/** Saves the record to the database, for an account of its own. Repeating it changes nothing. */
export async function saveAddress(
  { journal }: Launch,
  { address, terms }: AddressRecord,
  store: Store,
): Promise<void> {
  const atMs = Date.now();
  const account =
    (await findAccount(store.db, { email })) ?? (await createAccount(store.db, email, { atMs }));
  if (!account) throw new Error("another launch made the account at this moment: try again");
  const { accountId } = account;
  await store.saveRecord({
    ...{ address: fromHex(address, ["address"]), terms: fromHex(terms, ["terms"]) },
    ...{ accountId, createdAtMs: atMs },
  });
  await journal.save({ saved: { address, accountId } });
}

/** Shows the address as text, QR code and links. */
export function showAddress({ chain, config, say }: Launch, record: AddressRecord): void {
  const { address, intent } = record;
  const token = chain.tokens.find((each) => each.address === intent.token)!;
  const until = new Date(intent.expirationTimestamp * 1000).toISOString();
  say(renderUnicodeCompact(address));
  say(
    [
      `Send ${formatUnits(intent.amount, token.decimals)} ${token.symbol} on ${chain.name} to`,
      `  ${address}`,
      `by ${until}. It is forwarded to ${intent.recovery}.`,
      `  payment page (of the running service)   ${config.publicUrl}/a/${address}`,
      `  payment link (ERC-681)                  ${paymentLink(record, intent.amount)}`,
      ...(chain.explorer
        ? [`  block explorer                          ${chain.explorer}/address/${address}`]
        : []),
    ].join("\n"),
  );
}

/**
 * Waits until the address is paid, and executes it unless somebody else does.
 *
 * @throws if the address expires unpaid, or the execution fails
 */
export async function executePaid(
  run: Launch,
  record: AddressRecord,
  readState: () => Promise<AddressStatus>,
) {
  const { say, pollMs } = run;
  let shown: string | undefined;
  for (;;) {
    const status = await readState();
    if (status.state === "executed") break;
    if (status.state === "funded") await execute(run, record, readState);
    else if (status.state !== "unfunded" && status.state !== "partially_funded") {
      throw new Error(`${record.address} is ${status.state}: it can no longer be executed`);
    } else if (shown !== status.balance) {
      shown = status.balance;
      say(`Waiting for the payment: ${status.balance} of ${record.intent.amount} base units.`);
    }
    await sleep(pollMs);
  }
  return { address: record.address };
}

async function execute(
  run: Launch,
  { intent }: AddressRecord,
  readState: () => Promise<AddressStatus>,
): Promise<void> {
  const { chain, key, request, wallet } = run;
  const sender = openSender(chain.chainId, transportOf(request), key);
  const call = { to: factoryAddress, data: toHex(encodeExecution(intent)) };
  try {
    const estimate = await estimateGas(sender, { account: wallet, ...call, prepare: false });
    const gas = BigInt(Math.ceil(Number(estimate) * gasMargin));
    run.say("The payment arrived. Executing.");
    const hash = await sendTransaction(sender, { ...call, gas });
    await waitForTransactionReceipt(sender, { hash });
  } catch (error) {
    // An executor may have been first.
    if ((await readState()).state !== "executed") throw error;
  }
}

/** Endpoints stand at different blocks for a moment. */
const proofAttemptsMax = 30;

/**
 * Proves the outcome by blocks on which a quorum of endpoints agrees, verifies the proof, and
 * writes it to a file.
 */
export async function proveOutcome(run: Launch, record: AddressRecord) {
  const { rpcs, quorum, journal, config, chain, say, pollMs } = run;
  for (let attempt = 1; ; attempt++) {
    try {
      const receipt = await makeReceipt(record, { rpcs, quorum });
      const hashes = await agreeOnReceipt(receipt, { rpcs, quorum });
      const proved = verifyReceipt(receipt, hashes);
      if (proved.outcome !== "executed" || proved.payments.length === 0) {
        throw new ProofError("unproved", `found ${proved.outcome}, ${proved.payments.length} paid`);
      }
      const file = join(config.dataDirectory, `launch-${chain.chainId}-receipt.json`);
      writeFileSync(file, `${JSON.stringify(receipt, null, 2)}\n`, { mode: 0o600, flush: true });
      await journal.save({ receipt: file });
      const { execution, payments, block } = proved;
      const hash = execution!.transactionHash;
      const at = `${block.number} ${block.hash}`;
      const paid = payments.map(({ transactionHash }) => transactionHash);
      say(
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
      if (!(error instanceof ProofError) || attempt === proofAttemptsMax) throw error;
    }
    await sleep(pollMs);
  }
}

const linkTo = ({ chain }: Launch, hash: Hex) =>
  chain.explorer ? `${chain.explorer}/tx/${hash}` : hash;
