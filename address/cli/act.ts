// Sends execute, recover, and rescue transactions. A command shows the transaction and sends it.
// The command then reports the outcome that a quorum of nodes agrees on.

import { isSame, toHex } from "../abi/hex.ts";
import { encodeBalanceOf, type TransferLog, transferOf, zeroAddress } from "../abi/token.ts";
import { executeCalldata, recoverCalldata, rescueCalldata } from "../calldata/calldata.ts";
import { gasMargin } from "../calldata/gas.ts";
import { describeValue } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import {
  listAnswers,
  parseAgreement,
  pickAgreed,
  type Rpcs,
  reasonOf,
  toRpc,
} from "../proof/agree.ts";
import { ProofError } from "../proof/error.ts";
import type { AddressStatus, TokenAmount } from "../status/shape.ts";
import { Misuse, type Options } from "./arguments.ts";
import { nodesOf, type OnChain, readNow, recordOf } from "./chain.ts";
import { openKeystore } from "./keystore.ts";

export type Action = "execute" | "recover" | "rescue";

/** Gives a command access to the keystore file, the file's password, and the error output. */
export type Actor = {
  readonly readFile: (path: string) => string;
  readonly password: string | undefined;
  readonly complain: (text: string) => void;
};

type Call = { readonly to: Hex; readonly data: Hex };
type Receipt = { blockHash: Hex; blockNumber: Hex; status: Hex };

const receiptSecondsMax = 180;
/** The time within which a node must propagate an accepted transaction to the other nodes. */
const knownSecondsMax = 15;
const pollMs = 1_000;

/** @throws {Error} if the state of the address does not allow the action */
export async function act(name: Action, given: OnChain, actor: Actor) {
  const record = await recordOf(given);
  const status = await readNow(given, record);
  const named = name === "recover" ? await findNamed(given, record) : [];
  const call = callFor(name, record, status, given.options, named);
  const { chainId } = record.intent;
  actor.complain(`${describe(name, record, status, named)}\n`);
  const plan = { action: name, address: record.address, state: status.state, chainId, ...call };
  if (given.options.isDryRun) return { ...plan, sent: false };
  const { rpcs, ...nodes } = nodesOf(given);
  const transactionHash = await send(call, chainId, rpcs, given.options, actor);
  actor.complain(`sent ${transactionHash}\n`);
  const { quorum } = parseAgreement(rpcs, nodes);
  const receipt = await waitForReceipt(transactionHash, rpcs, quorum);
  const hasSucceeded = Number(receipt.status) === 1;
  if (!hasSucceeded)
    throw new Error(
      `transaction ${transactionHash}: expected the receipt status 1 (success), found ` +
        Number(receipt.status),
    );
  const after = await readNow(given, record);
  return { ...plan, sent: true, transactionHash, state: after.state, status: after };
}

/**
 * Returns the address's balances of the tokens that the user named with `--token`. With
 * `--transaction`, also returns the balances of the tokens that this transaction sent to the
 * address. A quorum of nodes must agree on each balance.
 */
async function findNamed(given: OnChain, { address }: AddressRecord): Promise<TokenAmount[]> {
  const { one, many } = given.options;
  const { rpcs, ...nodes } = nodesOf(given);
  const { quorum } = parseAgreement(rpcs, nodes);
  const tokens = new Set(many.token);
  const hash = one.transaction;
  if (hash !== undefined) {
    const paid = await askAgreed(rpcs, quorum, ["eth_getTransactionReceipt", [hash]], (receipt) =>
      receipt === null ? undefined : tokensTo(address, receipt).join(" "),
    );
    if (!paid)
      throw new Error(`${hash}: expected a transfer to ${address} on this chain, found none`);
    for (const token of paid.split(" ")) tokens.add(token);
  }
  return Promise.all(
    [...tokens].map(async (token) => {
      const data = encodeBalanceOf(address);
      const call =
        token === zeroAddress
          ? (["eth_getBalance", [address, "latest"]] as const)
          : (["eth_call", [{ to: token, data }, "latest"]] as const);
      const amount = await askAgreed(rpcs, quorum, call, (answer) => String(BigInt(`${answer}`)));
      return { token: token as Hex, amount };
    }),
  );
}

/** Returns the tokens that `address` received, in the order of the receipt's logs. */
function tokensTo(address: Hex, receipt: unknown): Hex[] {
  const { logs } = receipt as { logs: (TransferLog & { address: Hex })[] };
  const sent = logs.filter((log) => {
    const transfer = transferOf(log);
    return transfer !== undefined && isSame(transfer.to, address);
  });
  return [...new Set(sent.map((log) => log.address.toLowerCase() as Hex))];
}

/** @throws {ProofError} `no_quorum` unless a quorum of nodes gives the same answer */
async function askAgreed(
  rpcs: Rpcs,
  quorum: number,
  [method, params]: readonly [string, readonly unknown[]],
  read: (answer: unknown) => string | undefined,
): Promise<string> {
  const answers = await Promise.allSettled(
    rpcs.map(async (rpc) => read(await toRpc(rpc)(method, params))),
  );
  const found = pickAgreed(listValues(answers), quorum);
  if (found !== undefined) return found;
  const shown = answers.map((each) =>
    each.status === "fulfilled" ? describeValue(each.value) : reasonOf(each.reason),
  );
  throw new ProofError(
    "no_quorum",
    `${method} ${JSON.stringify(params)}: expected ${quorum} of ${rpcs.length} nodes to give the ` +
      `same answer, found ${listAnswers(shown)}`,
  );
}

function callFor(
  name: Action,
  record: AddressRecord,
  { state, recoverable }: AddressStatus,
  { one }: Options,
  named: readonly TokenAmount[],
): Call {
  const { terms, factory: to } = record;
  const refuse = (why: string) => new Error(`${record.address} is ${state}: ${why}`);
  if (name === "execute") {
    if (state !== "funded") throw refuse("only a funded address can be executed");
    return { to, data: toHex(executeCalldata(terms)) };
  }
  const isOver = state === "executed" || state === "expired" || state === "recovered";
  if (!isOver) throw refuse(`${name} is possible only after the execution or the expiration time`);
  if (name === "rescue") {
    const { target, value = "0", data = "0x" } = one;
    if (!target || !/^[0-9]+$/.test(value))
      throw new Misuse(
        "rescue needs --target ADDRESS, and --value must be wei in decimal digits, found " +
          `${describeValue(target)} and ${describeValue(value)}`,
      );
    const rescue = { target: target as Hex, value: BigInt(value), data: data as Hex };
    return { to, data: toHex(rescueCalldata(terms, rescue)) };
  }
  const empty = named.find(({ amount }) => amount === "0");
  if (empty) throw refuse(`the address has no balance of ${empty.token}`);
  const found = (named.length > 0 ? named : recoverable).map(({ token }) => token);
  if (found.length === 0 && state !== "expired") throw refuse("there is no balance to recover");
  const tokens = found.length > 0 ? found : [zeroAddress];
  return { to, data: toHex(recoverCalldata(terms, tokens as Hex[])) };
}

function describe(
  name: Action,
  { address, intent }: AddressRecord,
  status: AddressStatus,
  named: readonly TokenAmount[],
): string {
  const lines = {
    execute: intent.calls.map(
      (call, index) => `${index}: ${call.target} ${call.function} ${JSON.stringify(call.args)}`,
    ),
    recover: [
      ...named.map(({ token, amount }) => `balance ${amount} of ${token}`),
      `the balances go to ${intent.recovery}`,
    ],
    rescue: [`only ${intent.recovery} can do this`],
  };
  const held = `${status.balance} of ${intent.token}`;
  return [
    `${name} ${address} on chain ${intent.chainId}: ${status.state}, balance ${held}`,
    ...lines[name],
  ].join("\n");
}

/**
 * Signs with the keystore's key. Without a keystore, asks the nodes to sign for the `--from`
 * account.
 */
async function send(
  call: Call,
  chainId: number,
  rpcs: Rpcs,
  { one }: Options,
  { readFile, password }: Actor,
): Promise<Hex> {
  if (one.keystore !== undefined) {
    const signer = await openKeystore(readFile(one.keystore), password);
    const { hash, signed } = await signer.sign({
      ...call,
      chainId,
      ...(await feesOf(call, signer.address, rpcs)),
    });
    const sent = rpcs.map((rpc) => toRpc(rpc)("eth_sendRawTransaction", [signed]));
    const results = await Promise.allSettled(sent);
    if (results.some((result) => result.status === "fulfilled")) return hash;
    throw (results[0] as PromiseRejectedResult).reason;
  }
  if (one.from === undefined)
    throw new Misuse("missing --keystore or --from; to send nothing, use --dry-run");
  let cause: unknown;
  for (const rpc of rpcs) {
    try {
      return (await toRpc(rpc)("eth_sendTransaction", [{ ...call, from: one.from }])) as Hex;
    } catch (error) {
      cause = error;
    }
  }
  throw cause;
}

/**
 * Uses the median of the nodes' answers, because one wrong answer has little effect on it. If one
 * of three answers is wrong, the median is between the two correct answers.
 */
async function feesOf(call: Call, from: Hex, rpcs: Rpcs) {
  const middle = async (method: string, params: readonly unknown[]) => {
    const answers = await Promise.allSettled(rpcs.map((rpc) => toRpc(rpc)(method, params)));
    const values = listValues(answers)
      .map((value) => BigInt(value as string))
      .sort((a, b) => (a < b ? -1 : 1));
    const found = values[Math.floor((values.length - 1) / 2)];
    if (found !== undefined) return found;
    throw (answers[0] as PromiseRejectedResult).reason;
  };
  const [nonce, gas, price] = await Promise.all([
    middle("eth_getTransactionCount", [from, "pending"]),
    middle("eth_estimateGas", [{ ...call, from }]),
    middle("eth_gasPrice", []),
  ]);
  return {
    nonce: Number(nonce),
    gas: BigInt(Math.ceil(Number(gas) * gasMargin)),
    maxFeePerGas: 2n * price,
    maxPriorityFeePerGas: price / 10n,
  };
}

/** @throws {ProofError} `no_quorum` if too few nodes have the transaction or its receipt in time */
async function waitForReceipt(hash: Hex, rpcs: Rpcs, quorum: number): Promise<Receipt> {
  const askAll = (method: string) =>
    Promise.allSettled(rpcs.map(async (rpc) => toRpc(rpc)(method, [hash])));
  const startedMs = performance.now();
  const hasPassed = (seconds: number) => performance.now() - startedMs >= seconds * 1_000;
  let known = 0;
  let answers: PromiseSettledResult<unknown>[] = [];
  for (let round = 1; !hasPassed(receiptSecondsMax); round++) {
    answers = await askAll("eth_getTransactionReceipt");
    const receipt = pickAgreed(listValues(answers) as Partial<Receipt>[], quorum, describeReceipt);
    if (receipt) return receipt as Receipt;
    if (known < quorum)
      known = listValues(await askAll("eth_getTransactionByHash")).filter(Boolean).length;
    // The transaction is not sent to another node, because the first node may still propagate it. A
    // silent node can make the first round longer than `knownSecondsMax`.
    if (known < quorum && round > 1 && hasPassed(knownSecondsMax))
      throw new ProofError(
        "no_quorum",
        `${hash}: one node accepted this transaction, but after ${knownSecondsMax} s, expected ` +
          `${quorum} of ${rpcs.length} nodes to have it, found ${known}; check the status before ` +
          "you send it again",
      );
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  const shown = answers.map((each) =>
    each.status === "fulfilled"
      ? (describeReceipt(each.value as Partial<Receipt> | null) ?? "no receipt")
      : reasonOf(each.reason),
  );
  throw new ProofError(
    "no_quorum",
    `${hash}: expected ${quorum} of ${rpcs.length} nodes to return the same receipt within ` +
      `${receiptSecondsMax} s, found ${listAnswers(shown)}; check the status before you send the ` +
      "transaction again",
  );
}

/** Returns the answers of the nodes that did not fail. */
const listValues = <Value>(answers: readonly PromiseSettledResult<Value>[]): Value[] =>
  answers.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));

/** Returns the fields on which nodes must agree, or undefined if there is no receipt. */
const describeReceipt = (answer: Partial<Receipt> | null): string | undefined =>
  answer?.blockHash && answer.status && `status ${answer.status} in block ${answer.blockHash}`;
