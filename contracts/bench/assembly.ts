// Measures the gas that three blocks of assembly save. For each block, compiles the factory with
// plain Solidity instead of the block. Then executes the same intent with the factory and with the
// compiled variant. The intent sends USDC with one call.

import type { Hex } from "viem";
import { compile, readSources, standardInput } from "../assurance/published/standard-input.ts";
import { factoryAddress } from "../index.ts";
import { fillIn } from "../snapshots/files.ts";
import { type Chain, type IntentTerms, toFactory } from "../testing/local-chain.ts";

type File = "src/PaymentFactory.sol" | "src/Vault.sol";
type Row = { assembly: number; Solidity: number; difference: number };

/**
 * Maps each function with a block of assembly to Solidity that has the same effects as the block.
 */
const inSolidity: Record<string, { file: File; code: string }> = {
  _balanceOf: {
    file: "src/PaymentFactory.sol",
    code: `bytes memory answer;
           (ok, answer) = token.staticcall(abi.encodeWithSelector(selector, vault));
           ok = ok && answer.length > 31;
           found = uint256(bytes32(answer));`,
  },
  _addressOf: {
    file: "src/PaymentFactory.sol",
    code: `bytes32 initCodeHash = keccak256(initCode);
           hash = keccak256(abi.encodePacked(hex"ff", address(this), bytes32(0), initCodeHash));`,
  },
  _call: {
    file: "src/Vault.sol",
    code: `hash = keccak256(bytes(signature));
           bytes memory result;
           (ok, result) = target.call(bytes.concat(bytes4(hash), args));
           size = result.length;
           word = bytes32(result);`,
  },
};

/** Returns the gas costs for each block of assembly. `intent` must be paid, but not executed. */
export async function measureAssembly(chain: Chain, intent: IntentTerms) {
  const rows: Record<string, Row> = {};
  const assembly = await executionGas(chain, intent);
  for (const name of Object.keys(inSolidity)) {
    const Solidity = await executionGas(chain, intent, variant(name));
    rows[name] = { assembly, Solidity, difference: Solidity - assembly };
  }
  return rows;
}

/** Executes `intent`, by default with the deployed factory, and then reverts the chain. */
async function executionGas({ client, send }: Chain, intent: IntentTerms, bytecode?: Hex) {
  const id = await client.snapshot();
  if (bytecode) await client.setCode({ address: factoryAddress, bytecode });
  const { gasUsed } = await send(factoryAddress, toFactory("execute", [intent]));
  await client.revert({ id });
  return Number(gasUsed);
}

/** Compiles the factory with Solidity instead of the assembly in the function `name`. */
function variant(name: string): Hex {
  const { file, code } = inSolidity[name]!;
  const sources = readSources();
  const block = new RegExp(
    `(?<=\\n    function ${name}\\((?:(?!\\n    }\\n).)*\\n)` +
      ` {8}assembly \\("memory-safe"\\) {\\n.*?\\n {8}}\\n`,
    "gs",
  );
  const count = sources[file]!.match(block)?.length ?? 0;
  if (count !== 1) throw new Error(`expected one block of assembly in ${name}, found ${count}`);
  sources[file] = sources[file]!.replace(block, () => code);
  const { errors, contracts } = compile(standardInput(sources));
  const error = errors?.find(({ severity }) => severity === "error");
  if (error) throw new Error(error.formattedMessage);
  const { object, immutableReferences } =
    contracts!["src/PaymentFactory.sol"]!.PaymentFactory!.evm.deployedBytecode;
  return fillIn(`0x${object}`, immutableReferences, factoryAddress);
}
