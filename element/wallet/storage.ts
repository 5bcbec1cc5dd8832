// Stores values of a page in the browser. If the browser's storage is blocked or full, a new value
// stays in memory until the page is closed or loaded again.

/**
 * The values that could not be stored. `over` is the stored value at that time. If another tab
 * changes the stored value, the value in memory is outdated.
 */
const unstored = new Map<string, { text: string; over: string | null }>();

export function recall(key: string): string | undefined {
  const stored = findStored(key);
  const newer = unstored.get(key);
  if (newer?.over === stored) return newer.text;
  unstored.delete(key);
  return stored ?? undefined;
}

export function remember(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
    unstored.delete(key);
  } catch {
    // Other tabs and later visits need the older value, for example to refuse a second payment.
    unstored.set(key, { text, over: findStored(key) });
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

function findStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
