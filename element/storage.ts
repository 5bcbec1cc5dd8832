// Remembers things for a page in its browser. If site data are blocked or full, it remembers them
// as long as the page is open.

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
    // Kept above.
  }
}

export function forget(key: string): void {
  fallback.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // There is nothing to forget.
  }
}
