// Proves the outcome of an address. First, the caller's nodes agree on a block. A proof from the
// service or from any node is then verified.

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
  type GatherOptions,
  parseAgreement,
  type Rpcs,
} from "../proof/agree.ts";
import { ProofError } from "../proof/error.ts";
import type { AddressState, ServiceStatus } from "../status/shape.ts";
import { ClientError, UnprovenError, WaitError } from "./errors.ts";
import type { Trust } from "./options.ts";
import { loadCode, type Signal, sleep } from "./request.ts";
import type { WaitOptions, WaitSettings } from "./watch/watch.ts";
import { startBound } from "./within.ts";

/**
 * An outcome with its proof and record. With the proof and the record, anybody can verify the
 * outcome again.
 */
export type Proved = ProvedAddress & {
  readonly record: AddressRecord;
  readonly proof: AddressProof;
  readonly agreed: AgreedBlock;
};

/** Nodes of the intent's chain from independent operators, and the required quorum and depth. */
export type ProveOptions = AgreementOptions & { readonly rpcs: Rpcs };

/** `proof` contains the caller's nodes, which must prove the status before it is returned. */
export type ProvedWait = WaitOptions & { readonly proof?: ProveOptions };

/** The parts of a client that `prove` and `waitFor` use. */
export type ProofSource = {
  readonly trust: Trust;
  /** Sends a GET request for a path below the service's base URL. */
  readonly get: (path: string) => Promise<unknown>;
  readonly lookup: (address: Hex) => Promise<AddressRecord | undefined>;
};

/** Implements `Client.prove`. */
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
 * @param get sends a GET request for a path below the service's base URL
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
    const blocks = await readTrustedBlocks(proof, agreed, options);
    return { ...verifyAddressProof(record, proof, blocks, options), record, proof, agreed };
  };
  try {
    return await verified((await get(path)) as AddressProof);
  } catch (error) {
    if (!(error instanceof ClientError || error instanceof ProofError)) throw error;
    // Loads gather.ts only if it is needed, because the service's proof is usually valid.
    const { proveAt } = await loadCode(import("../proof/gather.ts"));
    return verified(await proveAt(record, agreed, options));
  }
}

/**
 * Returns the blocks that a proof can rely on. These are `agreed` and the execution's block, if a
 * quorum of nodes agrees on the latter.
 */
async function readTrustedBlocks(
  proof: AddressProof,
  agreed: AgreedBlock,
  { rpcs, ...options }: GatherOptions,
) {
  const number = proof?.execution?.block?.number;
  if (!Number.isSafeInteger(number) || number! > agreed.number) return [agreed];
  const { block } = await agree(rpcs, number!, parseAgreement(rpcs, options).quorum);
  return block ? [agreed, { ...block, chainId: agreed.chainId }] : [agreed];
}

/** The states that can be proved. States that depend on a balance cannot be proved. */
const outcomeByState: Readonly<Partial<Record<AddressState, ProvedAddress["outcome"]>>> = {
  executed: "executed",
  recovered: "closed",
  expired: "never",
};

/**
 * Waits until a reported status is proved. A reported status can be false or can have too few
 * confirmations. The status is therefore requested again until the timeout.
 *
 * @throws {WaitError} `timeout`; {TypeError} for a state that has no proof
 */
export async function waitForProof(
  claimed: (signal: Signal) => Promise<ServiceStatus>,
  provenNow: () => Promise<Proved>,
  states: readonly AddressState[],
  { signal, timeoutMs, pollMs }: WaitSettings,
): Promise<ServiceStatus & { readonly proved: Proved }> {
  const unprovable = states.find((state) => !outcomeByState[state]);
  if (unprovable) {
    const known = Object.keys(outcomeByState).join(" or ");
    throw new TypeError(`state: expected a provable state (${known}), found ${unprovable}`);
  }
  let seen: ServiceStatus | undefined;
  const late = () => {
    const message = `expected a proof of ${states.join(" or ")} within ${timeoutMs} ms, found none`;
    return new WaitError("timeout", message, seen);
  };
  const bound = startBound(signal, timeoutMs, late);
  try {
    for (;;) {
      seen = await claimed(bound.signal);
      const proved = await provenNow().catch((error) => {
        if (error instanceof ProofError) return undefined;
        throw error;
      });
      const { state } = seen;
      if (proved && proved.outcome === outcomeByState[state]) return { ...seen, proved };
      await sleep(pollMs, bound.signal);
    }
  } finally {
    bound.end();
  }
}
