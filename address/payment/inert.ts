// Decides which characters of untrusted text are shown unchanged. Characters that can hide,
// reorder, or imitate the text around them are shown as code points.

/** A part of the shown text. If `hidden`, `text` is the code point of one character: "U+202E". */
type Piece = { text: string; hidden: boolean };

/**
 * Matches control characters, bidi and format marks, separators, private-use characters, and
 * unassigned or invisible characters.
 */
export const hiddenCharacter =
  /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/u;
const combining = /\p{M}/u;

/**
 * A character needs at most two combining marks in any language. With more marks, a character could
 * cover the text in the lines above and below.
 */
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
    // A combining mark that follows a hidden character is hidden too. Otherwise, the mark would
    // combine with the last digit of `U+202E`.
    if (isHidden) joined = combiningMax;
  }
  return pieces;
}

/** Returns the text with hidden characters shown as code points: "AmU+202Eazon". */
export const inertText = (text: string): string =>
  inertPieces(text)
    .map((piece) => piece.text)
    .join("");

export const hasHidden = (text: string) => inertPieces(text).some((piece) => piece.hidden);

/** Returns whether `text` is short and has only visible characters, as a name must. */
export const isName = (text: unknown, lengthMax = 64): text is string =>
  typeof text === "string" && text.trim() !== "" && text.length <= lengthMax && !hasHidden(text);

/**
 * The limits for the chains and tokens that a service lists. The service refuses a chains file with
 * an entry above a limit. A page ignores such an entry.
 */
export const chainNameMax = 40;
export const symbolMax = 32;
export const decimalsMax = 36;

const codePoint = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
