import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { forget, recall, remember } from "./storage.ts";

/** A browser's storage that accepts `charactersMax` characters in total. */
function openStorage(charactersMax: number) {
  const stored = new Map<string, string>();
  return {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem(key: string, text: string) {
      const others = [...stored].filter(([name]) => name !== key);
      if (others.join("").length + key.length + text.length > charactersMax)
        throw new DOMException("the quota has been exceeded", "QuotaExceededError");
      stored.set(key, text);
    },
    removeItem: (key: string) => void stored.delete(key),
  };
}

const use = (localStorage: unknown) => Object.assign(globalThis, { localStorage });

describe("the values of a page", () => {
  afterEach(() => {
    forget("payment");
    use(undefined);
  });

  test("stay in memory if the storage is blocked", () => {
    use(undefined);
    remember("payment", "requested");
    assert.equal(recall("payment"), "requested");
    forget("payment");
    assert.equal(recall("payment"), undefined);
  });

  test("replace an older value even if the storage is full, which keeps the older value", () => {
    const storage = openStorage(20);
    use(storage);
    remember("payment", "requested");
    remember("payment", "sent with a transaction hash");
    assert.equal(recall("payment"), "sent with a transaction hash");
    assert.equal(storage.getItem("payment"), "requested");
    remember("payment", "sent");
    assert.equal(storage.getItem("payment"), "sent");
    assert.equal(recall("payment"), "sent");
  });

  test("are replaced by another tab's value even if the storage was full", () => {
    const storage = openStorage(20);
    use(storage);
    remember("payment", "first");
    remember("payment", "first with a transaction hash");
    storage.setItem("payment", "second");
    assert.equal(recall("payment"), "second");
    storage.removeItem("payment");
    assert.equal(recall("payment"), undefined);
  });

  test("are gone after another tab has forgotten them", () => {
    const storage = openStorage(100);
    use(storage);
    remember("payment", "requested");
    storage.removeItem("payment");
    assert.equal(recall("payment"), undefined);
  });

  test("are stored until they are forgotten", () => {
    const storage = openStorage(100);
    use(storage);
    remember("payment", "requested");
    assert.equal(storage.getItem("payment"), "requested");
    forget("payment");
    assert.equal(recall("payment"), undefined);
  });
});
