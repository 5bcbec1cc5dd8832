// Names in a refusal what a caller sent. No text that may be a secret is given to these.

/** In quotes where it is short and plain, else by its length. */
export function foundText(text: unknown): string {
  if (typeof text !== "string") return text === undefined ? "nothing" : "several";
  return /^[ -~]{0,200}$/.test(text) ? `"${text}"` : `${text.length} characters`;
}

/** The `Origin` of a request, of which there should be one. */
export const foundOrigin = (origins: readonly string[]) =>
  origins.length === 1 ? foundText(origins[0]) : `${origins.length || "no"} Origin headers`;
