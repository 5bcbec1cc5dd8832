// Exports the constants of the compiled contracts that the rest of the project uses, from the other
// files of this folder. A change of `prefix` or `creationCode` changes every address, so
// snapshot.test.ts compares both.

import { concat, type Hex, keccak256, size, slice } from "viem";
import { type Artifact, readArtifact } from "../build.ts";
import { create2Address } from "../deploy.ts";
import { factorySalt } from "../deployer.ts";
import { readSources, standardInput } from "../assurance/published/standard-input.ts";

/** Returns the files of snapshots/ by name, computed from the artifacts in `out`. */
export function snapshotFiles(out: string): Record<string, string> {
  const factory = readArtifact(out, "PaymentFactory");
  const { abi } = readArtifact(out, "IPaymentFactory");
  const deployed = deployment(factory);
  return {
    "payment-factory.ts": constant("paymentFactoryAbi", abi),
    "demo-token.ts": constant("demoToken", code(readArtifact(out, "DemoToken"))),
    "demo-shop.ts": constant("demoShop", code(readArtifact(out, "DemoShop"))),
    "reading.ts": ["Probe", "Meter"]
      .map((name) => constant(name.toLowerCase(), code(readArtifact(out, name))))
      .join(""),
    "periphery.ts": peripheryNames
      .map((name) => constant(lowerFirst(name), placed(readArtifact(out, name))))
      .join(""),
    "standard-input.json": `${JSON.stringify(standardInput(readSources()), null, 2)}\n`,
    "deployment.json": `${JSON.stringify(deployed, null, 2)}\n`,
    "../periphery/VaultCode.sol": vaultCode(deployed),
  };
}

/**
 * The contracts of periphery/ that are deployed. All others are compiled into the contracts that
 * use them.
 */
const peripheryNames = ["Tip", "Conditions", "Guards", "Collector", "OutcomeProof"] as const;

/**
 * Describes a contract that anybody can deploy with the deterministic deployer and the salt zero.
 */
const placed = ({ abi, bytecode, runtime }: Artifact) => ({
  address: create2Address(bytecode),
  codeHash: keccak256(runtime),
  abi,
  bytecode,
});
const lowerFirst = (name: string) => name[0]!.toLowerCase() + name.slice(1);

/** Returns the source of VaultCode.sol: the factory's constants that the periphery uses. */
const vaultCode = (of: ReturnType<typeof deployment>) => `// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// \`npm run snapshot\` writes this file. All values follow from the factory's creation code.

/// @dev PaymentFactory, at this address on every chain.
address constant FACTORY = ${of.factory};
/// @dev keccak256 of the code at a vault whose calls ran. The hash is the same on every chain.
bytes32 constant EXECUTED_CODE_HASH =
    ${of.executedCodeHash};
/// @dev keccak256 of the code at a closed vault. The calls of a closed vault can never run.
bytes32 constant CLOSED_CODE_HASH =
    ${of.closedCodeHash};
`;
const code = ({ abi, bytecode }: Artifact) => ({ abi, bytecode });

function deployment({ bytecode, runtime, immutables }: Artifact) {
  const address = create2Address(bytecode, factorySalt);
  if (!address.startsWith("0x00000000")) {
    throw new Error(
      `expected a factory address that begins with 0x00000000, found ${address}: the salt is for ` +
        "another creation code, so run npm run mine -w contracts",
    );
  }
  return {
    factory: address,
    salt: factorySalt,
    prefix: find(runtime, "5f5f601c380380601c5f39", 32),
    initCodeHash: keccak256(bytecode),
    initCodeBytes: size(bytecode),
    runtimeCodeHash: keccak256(fillIn(runtime, immutables, address)),
    runtimeCodeBytes: size(runtime),
    ...vaultCodeHashes(runtime, address),
    creationCode: bytecode,
  };
}

/** Returns the factory's deployed code. Its only immutable is the factory's address. */
export function fillIn(runtime: Hex, immutables: Artifact["immutables"], address: Hex): Hex {
  const word = address.slice(2).toLowerCase().padStart(64, "0");
  let text: string = runtime;
  for (const { start } of Object.values(immutables).flat()) {
    const at = 2 + start * 2;
    text = text.slice(0, at) + word + text.slice(at + 64);
  }
  return text as Hex;
}

/**
 * Returns the hashes of the two codes that a vault can have on every chain: after its calls ran,
 * and after it was closed.
 */
function vaultCodeHashes(runtime: Hex, factory: Hex) {
  const tail = find(runtime, "18602857365f5f37", 23);
  const executed = concat(["0x336f", slice(factory, 4), tail]);
  return {
    executedCodeHash: keccak256(executed),
    closedCodeHash: keccak256(concat([executed, "0x00"])),
  };
}

/** Returns a constant of the contract, which is found by the constant's first instructions. */
function find(runtime: Hex, first: string, bytes: number): Hex {
  const at = runtime.indexOf(first);
  if (at < 0) throw new Error(`no ${first} in the code of PaymentFactory`);
  return `0x${runtime.slice(at, at + 2 * bytes)}`;
}

const constant = (name: string, value: unknown) =>
  `export const ${name} = ${JSON.stringify(value, null, 2)} as const;\n`;
