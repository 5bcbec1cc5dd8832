// Reads the operator's names (labels) for contracts from a file: {"8453": {"0x…": "A Shop"}}.
// Payers see these names, so a name must be short and plain. A contract that receives money for
// others, such as an exchange, must not have a label.

import { readFileSync } from "node:fs";
import type { Intent } from "executable-address";
import { InvalidError, parseAddress } from "executable-address";
import { partiesOf } from "executable-address/payment";
import { z } from "zod";
import { isPlainName, plainNames } from "../../accounts/names.ts";
import type { Labels } from "../parts.ts";

/** Thrown if the file is invalid. The message is one sentence for the operator. */
class LabelsError extends Error {
  override name = "LabelsError";
}

const labelsSchema = z.record(
  z.string().regex(/^[1-9]\d{0,15}$/, "expected a chain ID in decimal digits"),
  z.record(z.string(), z.string().refine(isPlainName, `expected ${plainNames}`)),
);

/**
 * @param file the path of a JSON file; if undefined, there are no labels
 * @throws {LabelsError} with each fault and its path in the file
 */
export function readLabels(file: string | undefined): Labels {
  if (file === undefined) return new Map();
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new LabelsError(`${file} cannot be read: ${(error as Error).message}`);
  }
  const parsed = labelsSchema.safeParse(value);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new LabelsError(`${file} is not a valid file of labels: ${faults.join("; ")}`);
  }
  const labels = new Map<number, Record<string, string>>();
  for (const [chainId, names] of Object.entries(parsed.data)) {
    const ofChain: Record<string, string> = {};
    for (const [address, name] of Object.entries(names)) {
      ofChain[addressIn(file, chainId, address)] = name;
    }
    labels.set(Number(chainId), ofChain);
  }
  return labels;
}

function addressIn(file: string, chainId: string, address: string): string {
  try {
    return parseAddress(address).toLowerCase();
  } catch (error) {
    const reason = error instanceof InvalidError ? error.issues[0]!.message : `${error}`;
    throw new LabelsError(`${file}: ${chainId}.${address}: ${reason}`);
  }
}

/** Returns the labels of all contracts that an intent calls or pays. */
export function labelsOf(intent: Intent, labels: Labels): Record<string, string> {
  const names = labels.get(intent.chainId) ?? {};
  const found: Record<string, string> = {};
  const called = intent.calls.map(({ target }) => target.toLowerCase());
  for (const party of [...called, ...partiesOf(intent)]) {
    const name = party && names[party];
    if (name) found[party] = name;
  }
  return found;
}

/**
 * Returns the label of the contract that requests the money. The party of a call is the called
 * contract. If the token is called, the party is the recipient or the spender. All parties must
 * have the same label. Otherwise, a single call to a labeled contract would give its label to the
 * whole intent.
 */
export function requesterOf(intent: Intent, labels: Labels): string | undefined {
  const found = labelsOf(intent, labels);
  const requesters = new Set(partiesOf(intent).map((party) => party && found[party]));
  const [requester] = requesters;
  return requesters.size === 1 ? requester : undefined;
}
