// execute, recover and rescue by hand: what would be sent is shown first, and what became of it is
// what more than half of the nodes say.

import { toHex } from "../abi/hex.ts";
import { zeroAddress } from "../abi/token.ts";
import { executeCalldata, recoverCalldata, rescueCalldata } from "../calldata/calldata.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { parseAgreement, type Rpcs, toRpc } from "../proof/agree.ts";
import { ProofError } from "../proof/error.ts";
import type { AddressStatus } from "../status/shape.ts";
import { Misuse, type Options } from "./arguments.ts";
import { nodesOf, type OnChain, readNow, recordOf } from "./chain.ts";
import { openKeystore } from "./keystore.ts";

export type Action = "execute" | "recover" | "rescue";

/** Parts of the process that acting on a chain needs. */
export type Actor = {
  readonly readFile: (path: string) => string;
  readonly password: string | undefined;
  readonly complain: (text: string) => void;
};

type Call = { readonly to: Hex; readonly data: Hex };
type Receipt = { blockHash: Hex; blockNumber: Hex; status: Hex };

const receiptSecondsMax = 180;
/** A node that says it has sent a transaction has passed it on to the others within this time. */
const knownSecondsMax = 15;
const pollMs = 1_000;

/** @throws {Error} where the chain would refuse it as it is now */
export async function act(name: Action, given: OnChain, actor: Actor) {
  const record = await recordOf(given);
  const status = await readNow(given, record);
  const call = callFor(name, record, status, given.options);
  const { chainId } = record.intent;
  actor.complain(`${describe(name, record, status)}\n`);
  const plan = { action: name, address: record.address, state: status.state, chainId, ...call };
  if (given.options.isDryRun) return { ...plan, sent: false };
  const { rpcs, ...nodes } = nodesOf(given);
  const transactionHash = await send(call, chainId, rpcs, given.options, actor);
  actor.complain(`sent ${transactionHash}\n`);
  const { quorum } = parseAgreement(rpcs, nodes);
  const receipt = await waitForReceipt(transactionHash, rpcs, quorum);
  const hasSucceeded = Number(receipt.status) === 1;
  if (!hasSucceeded) throw new Error(`${transactionHash} was mined and failed`);
  const after = await readNow(given, record);
  return { ...plan, sent: true, transactionHash, state: after.state, status: after };
}

function callFor(
  name: Action,
  record: AddressRecord,
  { state, recoverable }: AddressStatus,
  { one, many }: Options,
): Call {
  const { terms, factory: to } = record;
  const refuse = (why: string) => new Error(`${record.address} is ${state}: ${why}`);
  if (name === "execute") {
    if (state !== "funded") throw refuse("it can be executed only while it is funded");
    return { to, data: toHex(executeCalldata(terms)) };
  }
  const isOver = state === "executed" || state === "expired" || state === "recovered";
  if (!isOver) throw refuse(`${name} is for what is over or expired`);
  if (name === "rescue") {
    const { target, value = "0", data = "0x" } = one;
    if (!target || !/^[0-9]+$/.test(value))
      throw new Misuse("rescue needs --target, and wei as --value");
    const rescue = { target: target as Hex, value: BigInt(value), data: data as Hex };
    return { to, data: toHex(rescueCalldata(terms, rescue)) };
  }
  const found = many.token.length > 0 ? many.token : recoverable.map(({ token }) => token);
  if (found.length === 0 && state !== "expired") throw refuse("there is nothing to return");
  const tokens = found.length > 0 ? found : [zeroAddress];
  return { to, data: toHex(recoverCalldata(terms, tokens as Hex[])) };
}

/** Says in lines for people what the command will do. */
function describe(name: Action, { address, intent }: AddressRecord, status: AddressStatus): string {
  const lines = {
    execute: intent.calls.map(
      (call, index) => `${index}: ${call.target} ${call.function} ${JSON.stringify(call.args)}`,
    ),
    recover: [`what is there goes to ${intent.recovery}`],
    rescue: [`only ${intent.recovery} may do this`],
  };
  const held = `${status.balance} of ${intent.token}`;
  return [
    `${name} ${address} on chain ${intent.chainId}: ${status.state}, holds ${held}`,
    ...lines[name],
  ].join("\n");
}

/** Signs by a key of the caller's, or by a node that has one. */
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
    throw new Misuse("--keystore or --from (of a node that has the key) is needed, or --dry-run");
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

/** The middle of what nodes say, so that of three one's lie costs nothing. */
async function feesOf(call: Call, from: Hex, rpcs: Rpcs) {
  const middle = async (method: string, params: readonly unknown[]) => {
    const answers = await Promise.allSettled(rpcs.map((rpc) => toRpc(rpc)(method, params)));
    const values = answers
      .filter((each) => each.status === "fulfilled")
      .map(({ value }) => BigInt(value as string))
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
  // The executor allows the same margin: a run uses up to 1.375 times what a node estimates.
  return {
    nonce: Number(nonce),
    gas: (gas * 11n) / 8n,
    maxFeePerGas: 2n * price,
    maxPriorityFeePerGas: price / 10n,
  };
}

/** @throws {ProofError} `no_quorum` where too few nodes know it, or show its receipt, in time */
async function waitForReceipt(hash: Hex, rpcs: Rpcs, quorum: number): Promise<Receipt> {
  const askAll = (method: string) =>
    Promise.all(rpcs.map((rpc) => toRpc(rpc)(method, [hash]).catch(() => null)));
  let isKnown = false;
  for (let waited = 0; waited < receiptSecondsMax * 1_000; waited += pollMs) {
    const answers = await askAll("eth_getTransactionReceipt");
    const texts = answers.map((answer) => {
      const { blockHash, status } = (answer ?? {}) as Partial<Receipt>;
      return blockHash && status && `${blockHash} ${status}`;
    });
    const at = texts.findIndex(
      (text) => text && texts.filter((other) => other === text).length >= quorum,
    );
    if (at >= 0) return answers[at] as Receipt;
    isKnown ||= (await askAll("eth_getTransactionByHash")).filter(Boolean).length >= quorum;
    // It is not sent by another node instead: the first may have sent it, and kept it from others.
    if (!isKnown && waited >= knownSecondsMax * 1_000)
      throw new ProofError(
        "no_quorum",
        `${hash}: a node says it sent this, others know nothing; see status before you try again`,
      );
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  throw new ProofError("no_quorum", `${hash}: not so many nodes show its receipt yet`);
}
