// Tokens and targets that are not as they should be: those of the contracts' own tests, compiled.

import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "executable-address";
import type { Sender } from "executable-address-contracts/deploy";
import { type Abi, getAddress } from "viem";
import { deployContract, waitForTransactionReceipt } from "viem/actions";
import { type Artifact, readArtifact, runForge } from "../../../contracts/build.ts";

const contracts = join(import.meta.dirname, "../../../contracts");
/** Of this process alone: test files run at the same time. */
const out = `out/odd-${process.pid}`;
let isBuilt = false;

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
  if (!isBuilt) {
    const args = ["build", "--no-cache", "--out", out, "test/tokens", "test/targets"];
    process.once("exit", () => rmSync(join(contracts, out), { recursive: true, force: true }));
    const { exitCode, output } = runForge("test", args);
    if (exitCode !== 0) throw new Error(`forge build ended with ${exitCode}: ${output}`);
    isBuilt = true;
  }
  return readArtifact(out, name, file);
}
