// Words that Solidity keeps for itself, as solc 0.8.37 has them: a test asks the compiler about
// each, in both places. Asked only of new intents (findCautions), so that a word added later
// unmakes none.

/** Neither functions nor parameters are named so. */
const words = `abstract address after alias anonymous apply as assembly auto bool break byte bytes
calldata case catch constant constructor continue contract copyof days default define delete do else
emit enum ether event external false final fixed for function gwei hex hours if immutable implements
import in indexed inline int interface internal is let library macro mapping match memory minutes
modifier mutable new null of override partial payable pragma private promise public pure reference
relocatable return returns sealed seconds sizeof static storage string struct supports switch throw
true try type typedef typeof ufixed uint unchecked unicode using var view virtual weeks wei while
years`;

/** Functions may be named so, parameters may not. */
const functionWords = "_ fallback receive super this";

const everywhere: ReadonlySet<string> = new Set(words.split(/\s+/));
const ofParameters: ReadonlySet<string> = new Set(functionWords.split(" "));

/** `uint8`, `bytes32`, `fixed128x18` and their kin; of other widths, as `uint7`, they are free. */
const sizedType = /^(?:u?int([1-9]\d*)|bytes([1-9]\d*)|u?fixed([1-9]\d*)x(0|[1-9]\d*))$/;

function isSizedType(word: string): boolean {
  const found = sizedType.exec(word);
  if (!found) return false;
  const [, intBits, bytes, fixedBits, digits] = found;
  if (bytes !== undefined) return Number(bytes) <= 32;
  const bits = Number(intBits ?? fixedBits);
  return bits % 8 === 0 && bits <= 256 && Number(digits ?? 0) <= 80;
}

/** Whether Solidity lets nothing of this `kind` have the name `word`. */
export const isReserved = (word: string, kind: "function" | "parameter"): boolean =>
  everywhere.has(word) || isSizedType(word) || (kind === "parameter" && ofParameters.has(word));

export const reservedWords: readonly string[] = [...everywhere, ...ofParameters];
