// Runs forge and reads its output. Forge's program is run directly, because the npm wrapper exits
// with 0 on failure.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Abi, Hex } from "viem";
import { foundryBinary } from "./anvil.ts";

const root = import.meta.dirname;

/** An absolute path, because solc does not resolve relative imports in a source named "..". */
const openzeppelin = dirname(
  dirname(fileURLToPath(import.meta.resolve("@openzeppelin/contracts/package.json"))),
);

export type Artifact = {
  abi: Abi;
  bytecode: Hex;
  runtime: Hex;
  /**
   * Maps the AST node ID of an immutable variable to the positions in `runtime` where its value is
   * written.
   */
  immutables: Record<string, { start: number; length: number }[]>;
};

/**
 * Runs forge in this folder, and returns forge's exit code and output.
 *
 * @param profile a profile in foundry.toml: "default" compiles the deployed contracts, and "test"
 *   compiles the tests
 */
export function runForge(
  profile: "default" | "test",
  args: string[],
  env: Record<string, string> = {},
): { exitCode: number | null; output: string } {
  const run = spawnSync(foundryBinary("forge"), args, {
    cwd: root,
    env: {
      ...process.env,
      NO_COLOR: "1",
      FOUNDRY_PROFILE: profile,
      FOUNDRY_REMAPPINGS: `@openzeppelin/=${openzeppelin}/`,
      ...env,
    },
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (run.error) throw run.error;
  return { exitCode: run.status, output: run.stdout + run.stderr };
}

/** Compiles the deployed contracts into `out`, from scratch. */
export function build(out: string): void {
  const args = ["build", "--force", "--out", out, "src", "demo", "periphery", "reading"];
  const { exitCode, output } = runForge("default", args);
  if (exitCode !== 0) throw new Error(`forge build exited with ${exitCode}: ${output}`);
}

/** Returns the compiler's output for contract `name`, defined in `<file>.sol`. */
export function readArtifact(out: string, name: string, file = name): Artifact {
  const path = `${root}/${out}/${file}.sol/${name}.json`;
  const { abi, bytecode, deployedBytecode } = JSON.parse(readFileSync(path, "utf8"));
  const { object: runtime, immutableReferences: immutables = {} } = deployedBytecode;
  return { abi, bytecode: bytecode.object, runtime, immutables };
}
