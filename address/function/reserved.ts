// Words that cannot name anything in Solidity, so no parameter or function of a contract has them.
// A test asks the compiler about each. `from`, `error`, `at` and the like may name things.

const words = `abstract address after alias anonymous apply as assembly auto bool break byte bytes
calldata case catch constant constructor continue contract copyof days default define delete do else
emit enum ether event external fallback false final fixed for function gwei hex hours if immutable
implements import in indexed inline int interface internal is let library macro mapping match memory
minutes modifier mutable new null of override partial payable pragma private promise public pure
receive reference relocatable return returns sealed seconds sizeof static storage string struct
super supports switch this throw true try type typedef typeof ufixed uint unchecked unicode using
var view virtual weeks wei while years`;

export const reservedWords: ReadonlySet<string> = new Set(words.split(/\s+/));

/** `uint8`, `bytes32`, `fixed128x18` and their kin, of any width. */
const sizedType = /^(u?int|bytes|u?fixed)\d+(x\d+)?$/;

/** Whether Solidity keeps `word` for itself. */
export const isReserved = (word: string): boolean =>
  reservedWords.has(word) || sizedType.test(word);
