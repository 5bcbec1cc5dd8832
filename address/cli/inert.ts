// Text of others, shown in a terminal as nothing but text: what would move the cursor, name the
// window, turn the reading direction or be invisible is written out, as JSON writes it.

/** Control characters (C0, C1), format characters (bidi, zero width, tags) and line separators. */
const active = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** One line. */
export const inertLine = (text: string): string => text.replace(active, written);

/** The JSON of `value`, indented: the same value, in characters that do nothing. */
export const inertJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(active, (text) => (text === "\n" ? text : written(text)));

function written(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
