// The input to solc that reproduces the factory with the settings of foundry.toml. Explorers and
// Sourcify accept sources in this format. snapshot.ts writes snapshots/standard-input.json.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const contractsRoot = join(import.meta.dirname, "../..");

/** Maps the name of each source file to its text. The compiler and explorers show these names. */
export type Sources = Record<string, string>;

export const readSources = (): Sources =>
  Object.fromEntries(
    ["src/IPaymentFactory.sol", "src/PaymentFactory.sol", "src/Vault.sol"].map((name) => [
      name,
      readFileSync(join(contractsRoot, name), "utf8"),
    ]),
  );

/** The Collector, which is deployed separately and imports nothing. */
export const readCollector = (): Sources => ({
  [collectorFile]: readFileSync(join(contractsRoot, collectorFile), "utf8"),
});

const collectorFile = "periphery/Collector.sol";

const factory = {
  "src/PaymentFactory.sol": {
    PaymentFactory: [
      "abi",
      "evm.bytecode.object",
      "evm.deployedBytecode.object",
      "evm.deployedBytecode.immutableReferences",
    ],
  },
};

/** Input of solc 0.8.37 in standard JSON. */
export function standardInput(sources: Sources, outputSelection: object = factory) {
  const named = Object.entries(sources).map(([name, content]) => [name, { content }]);
  return {
    language: "Solidity",
    sources: Object.fromEntries(named) as Record<string, { content: string }>,
    settings: {
      evmVersion: "cancun",
      viaIR: true,
      optimizer: { enabled: true, runs: 1_000_000 },
      metadata: { bytecodeHash: "none", appendCBOR: false },
      outputSelection,
    },
  };
}

type Bytecode = { object: string };
type StandardOutput = {
  errors?: { severity: string; formattedMessage: string }[];
  sources: Record<string, { ast: unknown }>;
  contracts?: Record<string, Record<string, { evm: Evm }>>;
};
type Evm = {
  bytecode: Bytecode;
  deployedBytecode: Bytecode & {
    immutableReferences: Record<string, { start: number; length: number }[]>;
  };
};

const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };

/** The output of the compiler that npm installs. */
export const compile = (input: object): StandardOutput =>
  JSON.parse(solc.compile(JSON.stringify(input)));
