// Decides which characters of untrusted text are shown as they are. Text from an intent can contain
// characters that hide, reorder, or imitate the text around them, so those are written out.

/** A stretch of text to show as it is, or one character to show by its code point: "U+202E". */
type Piece = { text: string; hidden: boolean };

/** Controls, bidi and format marks, separators, private use, unassigned, and what takes no ink. */
export const hiddenCharacter =
  /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/u;
const combining = /\p{M}/u;

/** Vowel signs and accents need at most two; more of them climb over the lines around. */
const combiningMax = 2;

export function inertPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let joined = combiningMax;
  for (const character of text) {
    joined = combining.test(character) ? joined + 1 : 0;
    const isHidden = hiddenCharacter.test(character) || joined > combiningMax;
    const last = pieces.at(-1);
    if (!isHidden && last && !last.hidden) last.text += character;
    else pieces.push({ text: isHidden ? codePoint(character) : character, hidden: isHidden });
    // A mark must have a letter of its own to sit on, never a written-out code point.
    if (isHidden) joined = combiningMax;
  }
  return pieces;
}

/** The same as one text: "AmU+202Eazon". */
export const inertText = (text: string): string =>
  inertPieces(text)
    .map((piece) => piece.text)
    .join("");

export const hasHidden = (text: string) => inertPieces(text).some((piece) => piece.hidden);

/** Whether a page may show it as a name: short, seen, and with nothing that hides or reorders. */
export const isName = (text: unknown, lengthMax = 64): text is string =>
  typeof text === "string" && text.trim() !== "" && text.length <= lengthMax && !hasHidden(text);

const codePoint = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
