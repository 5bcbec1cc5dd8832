// Compiles and deploys contracts from the contracts' tests: tokens and call targets with unusual
// behavior.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "executable-address";
import type { Sender } from "executable-address-contracts/deploy";
import { type Abi, getAddress } from "viem";
import { deployContract, waitForTransactionReceipt } from "viem/actions";
import { type Artifact, readArtifact, runForge } from "../../../contracts/build.ts";

const folders = ["test/tokens", "test/targets"];
const contracts = join(import.meta.dirname, "../../../contracts");
/**
 * The folder for the compiled contracts. The first process that needs the contracts compiles them
 * for all test files.
 */
const out = `out/odd-${digestOfSources()}`;

/** Deploys the contract `name` of contracts/test, from `file`.sol. */
export async function deployOdd(
  { client }: { client: Sender },
  name: string,
  file = name,
): Promise<Hex> {
  const { abi, bytecode }: Artifact = artifact(name, file);
  const hash = await deployContract(client, { abi: abi as Abi, bytecode });
  const { contractAddress } = await waitForTransactionReceipt(client, { hash });
  return getAddress(contractAddress!);
}

function artifact(name: string, file: string): Artifact {
  if (!existsSync(join(contracts, out))) build();
  return readArtifact(out, name, file);
}

/**
 * Compiles the contracts. Creates the folder atomically, because several test files use it
 * simultaneously.
 */
function build(): void {
  const own = `${out}-${process.pid}`;
  const args = ["build", "--no-cache", "--out", own, ...folders];
  const { exitCode, output } = runForge("test", args);
  if (exitCode !== 0) throw new Error(`forge build ended with ${exitCode}: ${output}`);
  try {
    renameSync(join(contracts, own), join(contracts, out));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
    rmSync(join(contracts, own), { recursive: true });
  }
}

function digestOfSources(): string {
  const hash = createHash("sha256").update(readFileSync(join(contracts, "foundry.toml")));
  for (const folder of folders) {
    for (const name of readdirSync(join(contracts, folder)).sort()) {
      hash.update(name).update(readFileSync(join(contracts, folder, name)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}
