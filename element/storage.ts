// Stores values of a page in the browser. If the browser's storage is blocked or full, the values
// stay in memory until the page closes.

const fallback = new Map<string, string>();

export function recall(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? fallback.get(key);
  } catch {
    return fallback.get(key);
  }
}

export function remember(key: string, text: string): void {
  fallback.set(key, text);
  try {
    localStorage.setItem(key, text);
  } catch {
    // The value stays in memory.
  }
}

export function forget(key: string): void {
  fallback.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // The storage is blocked or full, so the value exists only in memory.
  }
}
