// Finds recovery addresses that look like an exchange's wallet. Also finds contracts at `recovery`
// that are missing on another chain. If an address is paid on the wrong chain, the factory sends
// the payment to `recovery` on that chain. But a smart-contract wallet may exist only on the
// intent's chain.

import type { Hex } from "executable-address";
import type { Finding, Note } from "executable-address/client";
import type { BlockReference } from "executable-address/status";
import { sleepUnref } from "../../flow/wait.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { askAt } from "../rpc/chain-rpc.ts";
import { quantity } from "../rpc/json-rpc.ts";
import { isDelegating } from "./contracts.ts";

/** A chain on which somebody could pay the address by mistake. */
export type OtherChain = { name: string; rpc: ChainRpc };

type Found = { findings: Finding[]; notes: Note[] };

/** One check reads at most this number of other chains, with one call per chain. */
const chainsMax = 16;
/** The timeout of a response. A chain that takes longer is reported as not measured. */
const waitMs = 2000;
/**
 * An exchange's hot wallet sends this number of transactions in a few days. A personal wallet
 * rarely sends that many transactions.
 */
const noncesMin = 10_000;

/**
 * @param code the code of `recovery` on the intent's chain
 * @param others the other chains; at most {@link chainsMax} are read
 */
export async function findRecoveryDoubts(
  { rpc, others = [] }: { rpc: ChainRpc; others?: readonly OtherChain[] | undefined },
  block: BlockReference,
  recovery: Hex,
  code: Hex,
): Promise<Found> {
  // Externally owned accounts have one owner on all chains, even if they delegate to contracts.
  if (code === "0x" || isDelegating(code)) {
    return { findings: await findExchange(rpc, block, recovery), notes: [] };
  }
  const compared = others.slice(0, chainsMax);
  const codes = await Promise.all(compared.map((other) => readCode(other, recovery)));
  const namesOf = (isMeant: (code: Hex | undefined) => boolean) =>
    compared.filter((_, index) => isMeant(codes[index])).map(({ name }) => name);
  return {
    findings: withoutCode(namesOf((each) => each === "0x")),
    notes: unmeasured(namesOf((each) => each === undefined)),
  };
}

/** Returns undefined if the chain does not return valid code in time. */
async function readCode({ rpc }: OtherChain, account: Hex): Promise<Hex | undefined> {
  const read = rpc.request("eth_getCode", [account, "latest"]).catch(() => undefined);
  const answer = await Promise.race([read, sleepUnref(waitMs)]);
  return typeof answer === "string" && /^0x([0-9a-f]{2})*$/i.test(answer)
    ? (answer as Hex)
    : undefined;
}

function withoutCode(names: readonly string[]): Finding[] {
  if (names.length === 0) return [];
  const message =
    `the address is a contract on this chain but has no code on ${names.join(", ")}: money that ` +
    "payers send on a wrong chain is returned to the address on that chain";
  const cure = "use an address that its owner controls on every chain, or deploy the wallet there";
  return [{ path: ["recovery"], code: "recovery_without_code_on", message, cure }];
}

function unmeasured(names: readonly string[]): Note[] {
  if (names.length === 0) return [];
  const message = `${names.join(", ")} did not respond, so the contract could be missing there`;
  return [{ path: ["recovery"], code: "recovery_unmeasured", message }];
}

async function findExchange(
  rpc: ChainRpc,
  block: BlockReference,
  recovery: Hex,
): Promise<Finding[]> {
  const ask = (at: unknown) => ({ method: "eth_getTransactionCount", params: [recovery, at] });
  const count = quantity(await askAt(rpc, block, ask));
  if (count < BigInt(noncesMin)) return [];
  const message = `the address has sent ${count} transactions, so it may belong to an exchange`;
  const cure =
    "use a wallet that the payer controls, because an exchange may not credit returned money";
  return [{ path: ["recovery"], code: "recovery_looks_like_exchange", message, cure }];
}
