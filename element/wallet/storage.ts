// Stores values of a page in the browser. If the browser's storage is blocked or full, a new value
// stays in memory until the page is closed or loaded again.

/** The values that could not be stored. They are newer than the stored values. */
const unstored = new Map<string, string>();

export function recall(key: string): string | undefined {
  try {
    return unstored.get(key) ?? localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
    unstored.delete(key);
  } catch {
    // Other tabs and later visits need the older value, for example to refuse a second payment.
    unstored.set(key, text);
  }
}

export function forget(key: string): void {
  unstored.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // The storage is blocked, so it contains no value of this page.
  }
}
