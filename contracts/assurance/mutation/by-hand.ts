// Handwritten mutants of the contracts. No mutation operator makes these changes. Each mutant is a
// shortcut that a maintainer might take. Most tests would not detect it. The report counts these
// mutants separately.

import type { Sources } from "../published/standard-input.ts";
import type { Mutant } from "./mutants.ts";

type Shortcut = { what: string; file: "PaymentFactory" | "Vault"; from: string; to: string };

const inFactory = (what: string, from: string, to: string): Shortcut => ({
  what,
  file: "PaymentFactory",
  from,
  to,
});
const inVault = (what: string, from: string, to: string): Shortcut => ({
  ...inFactory(what, from, to),
  file: "Vault",
});

const runLoop = "for (uint256 i = 0; i < calls.length; ++i)";
const wrongChain =
  "if (intent.chainId != block.chainid) revert WrongChain(intent.chainId, block.chainid);";
const expired = "revert Expired(intent.expirationTimestamp, block.timestamp);";
const isLate = "block.timestamp > intent.expirationTimestamp";

const shortcuts: Shortcut[] = [
  inVault("only the first 16 calls run", runLoop, runLoop.replace("; ++i", " && i < 16; ++i")),
  inVault("only the first 31 calls run", runLoop, runLoop.replace("; ++i", " && i < 31; ++i")),
  inVault(
    "if there are more than 32 calls, the last ones are omitted",
    runLoop,
    runLoop.replace("<", "+ i / 32 <"),
  ),
  inFactory(
    "execute always writes the offset 32 into the terms, and ignores the caller's offset",
    "bytes.concat(PREFIX, msg.data[4:])",
    "bytes.concat(PREFIX, bytes32(uint256(32)), msg.data[36:])",
  ),
  inVault(
    "an intent with the chain ID 0 is valid on every chain",
    "return intent.chainId == block.chainid",
    "return (intent.chainId == 0 || intent.chainId == block.chainid)",
  ),
  inVault(
    "expiry 0 never expires",
    "block.timestamp <= intent.expirationTimestamp;",
    "(intent.expirationTimestamp == 0 || block.timestamp <= intent.expirationTimestamp);",
  ),
  inVault("257 counts as true", "uint256(word) == 1)", "uint8(uint256(word)) == 1)"),
  inVault("any number except 0 counts as true", "uint256(word) == 1)", "uint256(word) != 0)"),
  inVault("true followed by more data does not count as success", "size >= 32 &&", "size == 32 &&"),
  inFactory(
    "a balance is rejected if the result is longer than one word",
    "gt(returndatasize(), 31)",
    "eq(returndatasize(), 32)",
  ),
  inVault(
    "increaseAllowance must return true",
    "|| selector == IERC20.transferFrom.selector",
    "|| selector == IERC20.transferFrom.selector || selector == bytes4(0x39509351)",
  ),
  inVault(
    "calls get 20,000 gas less",
    "call(gas(), target, 0, input",
    "call(sub(gas(), 20000), target, 0, input",
  ),
  inFactory(
    "reading a balance gets at most 300,000 gas",
    "staticcall(gas(),",
    "staticcall(300000,",
  ),
  inFactory(
    "each token gets all the remaining gas",
    "gasleft() / (tokens.length - i)",
    "gasleft()",
  ),
  inFactory(
    "each batch item gets all the remaining gas",
    "gasleft() / (items.length - i)",
    "gasleft()",
  ),
  inFactory(
    "Expired is checked before WrongChain",
    `${wrongChain}\n            ${expired}`,
    `if (${isLate}) ${expired} revert WrongChain(intent.chainId, block.chainid);`,
  ),
  inVault(
    "after a call, only an eighth of the gas must remain, not a quarter",
    "GAS_LEFT_DIVISOR = 4",
    "GAS_LEFT_DIVISOR = 8",
  ),
  inVault(
    "a quarter of the gas must remain only after the first call",
    "if (gasleft() < given",
    "if (i == 0 && gasleft() < given",
  ),
  inVault(
    "the calls run long after the expiration time",
    "if (open) _run(",
    "if (open || block.timestamp > intent.expirationTimestamp + 30 days) _run(",
  ),
  inVault(
    "calls send the vault's native coin",
    "call(gas(), target, 0, input",
    "call(gas(), target, selfbalance(), input",
  ),
  inVault(
    "arguments are cut at 16,384 bytes",
    "add(args.length, 4), 0, 32)",
    "add(mod(args.length, 16385), 4), 0, 32)",
  ),
  inFactory(
    "Closed is emitted for a vault that already has code",
    "if (vault.code.length != 0) return vault;",
    "if (vault.code.length != 0) { emit Closed(vault); return vault; }",
  ),
  inFactory(
    "the recovery address can recover while the intent is open",
    "if (_isOpen(intent)) {",
    "if (_isOpen(intent) && msg.sender != intent.recovery) {",
  ),
  inFactory("a partial transfer counts as a failure", "left < held", "left == 0"),
  inFactory(
    "no more than 2^128 - 1 is recovered",
    "IERC20.transfer, (recovery, held)",
    "IERC20.transfer, (recovery, uint128(held))",
  ),
  inFactory(
    "execute accepts a balance of one unit less than the amount",
    "held < intent.amount",
    "held + 1 < intent.amount",
  ),
  inFactory(
    "addressOf accepts an expiration time that is too large for its type",
    "(intent.expirationTimestamp, intent.recovery);",
    "intent.recovery;",
  ),
  inFactory(
    "addressOf accepts a recovery value that is too large for its type",
    "(intent.expirationTimestamp, intent.recovery);",
    "intent.expirationTimestamp;",
  ),
  inFactory(
    "the token contract can also call rescue",
    "msg.sender != intent.recovery",
    "msg.sender != intent.recovery && msg.sender != intent.token",
  ),
];

/**
 * Returns the handwritten mutants. The field `in` of a handwritten mutant is "by hand". In all
 * other mutants, this field contains the name of a function, modifier, or contract.
 *
 * @throws if the text that a mutant replaces is missing or occurs more than once
 */
export function mutantsByHand(sources: Sources): Mutant[] {
  return shortcuts.map(({ what, file: contract, from, to }) => {
    const file = `src/${contract}.sol`;
    const parts = sources[file]!.split(from);
    if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${from}`);
    const line = parts[0]!.split("\n").length;
    const source = parts.join(to);
    return { file, in: "by hand", operator: what, from, to, nth: 0, line, source };
  });
}
