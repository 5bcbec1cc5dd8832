// Recently used values, within a bound of bytes: the least recently used leave first.

type Entry<Value> = { value: Value; bytes: number };

/** Of an entry beside its value: key, entry and its place in the Map. An estimate. */
const overheadBytes = 300;

export function byteCache<Value>(bytesMax: number) {
  const entries = new Map<string, Entry<Value>>();
  let bytesHeld = 0;

  const remove = (key: string) => {
    bytesHeld -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };

  return {
    get(key: string): Value | undefined {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key); // a Map keeps the order of insertion, so the last is the latest used
      entries.set(key, entry);
      return entry.value;
    },
    set(key: string, value: Value, valueBytes: number): void {
      remove(key);
      const bytes = valueBytes + overheadBytes;
      entries.set(key, { value, bytes });
      bytesHeld += bytes;
      for (const oldest of entries.keys()) {
        if (bytesHeld <= bytesMax) return;
        remove(oldest);
      }
    },
  };
}
