// Proves to the caller what became of an address: their own nodes name the block, and the service
// or any of the nodes gives the proof, which verifies or does not.

import type { AddressRecord, Hex } from "../intent/intent.ts";
import {
  type AddressProof,
  type ProvedAddress,
  verifyAddressProof,
} from "../proof/address-proof.ts";
import {
  type AgreedBlock,
  type AgreementOptions,
  agree,
  blockHashOf,
  parseAgreement,
  type Rpcs,
} from "../proof/agree.ts";
import { ProofError } from "../proof/error.ts";
import type { GatherOptions } from "../proof/gather.ts";
import type { AddressState, ServiceStatus } from "../status/shape.ts";
import { ClientError, UnprovenError, WaitError } from "./errors.ts";
import type { Trust } from "./options.ts";
import { loadCode, sleep } from "./request.ts";
import type { WaitOptions } from "./watch.ts";
import { startBound } from "./within.ts";

/** An outcome with its proof and record, by which anybody can verify it again. */
export type Proved = ProvedAddress & {
  readonly record: AddressRecord;
  readonly proof: AddressProof;
  readonly agreed: AgreedBlock;
};

/** Nodes of the intent's chain, of operators apart; how many must agree, and how deep. */
export type ProveOptions = AgreementOptions & { readonly rpcs: Rpcs };

/** `proof`: nodes of the caller's that prove the status before it is given. */
export type ProvedWait = WaitOptions & { readonly proof?: ProveOptions };

/** The parts of a client that proving uses. */
export type ProofSource = {
  readonly trust: Trust;
  /** Requests a path of the service. */
  readonly get: (path: string) => Promise<unknown>;
  readonly lookup: (address: Hex) => Promise<AddressRecord | undefined>;
};

/** Proves what became of an address, as `Client.prove` promises. */
export async function prove(
  { get, lookup, trust }: ProofSource,
  of: Hex | AddressRecord,
  options: ProveOptions,
): Promise<Proved> {
  const record = typeof of === "string" ? await lookup(of) : of;
  if (!record) throw new UnprovenError(`the service has no record of ${of}`);
  return proveWith(get, record, { ...options, ...trust });
}

/**
 * @param get answers a path of the service
 * @throws {ProofError} `no_quorum`, `unproved`
 */
async function proveWith(
  get: (path: string) => Promise<unknown>,
  record: AddressRecord,
  options: GatherOptions,
): Promise<Proved> {
  const { chainId } = record.intent;
  const agreed = await blockHashOf(options.rpcs, { ...options, chainId });
  const path = `/address/${record.address}/proof?block=${agreed.number}`;
  const verified = async (proof: AddressProof): Promise<Proved> => {
    const blocks = await blocksOf(proof, agreed, options);
    return { ...verifyAddressProof(record, proof, blocks, options), record, proof, agreed };
  };
  try {
    return await verified((await get(path)) as AddressProof);
  } catch (error) {
    if (!(error instanceof ClientError || error instanceof ProofError)) throw error;
    // Most services give a proof that verifies, so making one from nodes is loaded when needed.
    const { proveAt } = await loadCode(import("../proof/gather.ts"));
    return verified(await proveAt(record, agreed, options));
  }
}

/** The agreed block, and that of the execution where so many nodes have it up to there. */
async function blocksOf(
  proof: AddressProof,
  agreed: AgreedBlock,
  { rpcs, ...options }: GatherOptions,
) {
  const number = proof?.execution?.block?.number;
  if (!Number.isSafeInteger(number) || number! > agreed.number) return [agreed];
  const block = await agree(rpcs, number!, parseAgreement(rpcs, options).quorum);
  return block ? [agreed, { ...block, chainId: agreed.chainId }] : [agreed];
}

/** The states that a proof can tell; what an address holds is read and not proved. */
const outcomeOf: Readonly<Partial<Record<AddressState, ProvedAddress["outcome"]>>> = {
  executed: "executed",
  recovered: "closed",
  expired: "never",
};

/**
 * The claimed status, once it is proved. What is claimed and not so yet, above the depth asked for
 * or a lie, is asked for again until the time is over.
 *
 * @throws {WaitError} `timeout`; {TypeError} for a state that has no proof
 */
export async function waitForProof(
  claimed: (more: WaitOptions) => Promise<ServiceStatus>,
  provenNow: () => Promise<Proved>,
  wanted: readonly AddressState[],
  { signal, timeoutMs = 600_000, pollMs = 5_000 }: WaitOptions,
): Promise<ServiceStatus & { readonly proved: Proved }> {
  const unprovable = wanted.find((state) => !outcomeOf[state]);
  if (unprovable) throw new TypeError(`state: ${unprovable} has no proof`);
  let seen: ServiceStatus | undefined;
  const late = () => new WaitError("timeout", `not proved within ${timeoutMs} ms`, seen);
  const bound = startBound(signal, timeoutMs, late);
  try {
    for (;;) {
      seen = await claimed({ signal: bound.signal });
      const proved = await provenNow().catch((error) => {
        if (error instanceof ProofError) return undefined;
        throw error;
      });
      const { state } = seen;
      if (proved && proved.outcome === outcomeOf[state]) return { ...seen, proved };
      await sleep(pollMs, bound.signal);
    }
  } finally {
    bound.end();
  }
}
