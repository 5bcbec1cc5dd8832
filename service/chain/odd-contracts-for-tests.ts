// Tokens and targets that are not as they should be: those of the contracts' own tests, compiled.

import type { Hex } from "executable-address";
import { type Abi, getAddress } from "viem";
import { type Artifact, readArtifact, runForge } from "../../contracts/build.ts";
import type { World } from "./status-world-for-tests.ts";

const out = "out/odd";
let isBuilt = false;

/** Deploys the contract `name` of contracts/test, from `file`.sol. */
export async function deployOdd({ client }: World, name: string, file = name): Promise<Hex> {
  const { abi, bytecode }: Artifact = artifact(name, file);
  const hash = await client.deployContract({ abi: abi as Abi, bytecode });
  const { contractAddress } = await client.waitForTransactionReceipt({ hash });
  return getAddress(contractAddress!);
}

function artifact(name: string, file: string): Artifact {
  if (!isBuilt) {
    const args = ["build", "--out", out, "test/tokens", "test/targets"];
    const { exitCode, output } = runForge("test", args);
    if (exitCode !== 0) throw new Error(`forge build ended with ${exitCode}: ${output}`);
    isBuilt = true;
  }
  return readArtifact(out, name, file);
}
