import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { describe, test } from "node:test";
import { openHashing } from "./sign-in.ts";

/**
 * Opens the hashing queue with simulated hash computations. Each function in `ends` completes one
 * of the started computations.
 */
function openTurns(atOnce?: number) {
  const shed = { count: 0 };
  const hash = openHashing(() => shed.count++, atOnce);
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const ask = (name: string, isKnown: boolean, turnOf = name) =>
    hash({ isKnown, turnOf }, () => {
      begun.push(name);
      return new Promise<void>((done, failed) => {
        ends.push((error) => (error ? failed(error) : done()));
      });
    });
  /**
   * Completes all hash computations in order, including computations that start in the meantime.
   */
  const drain = async () => {
    for (let i = 0; i < ends.length; i++) {
      ends[i]!();
      await settle();
    }
  };
  const settle = () => new Promise((done) => setImmediate(done));
  return { ask, begun, drain, ends, settle, shed };
}

describe("the queue for password hashes", () => {
  test("rejects an unknown browser with 503 if 32 unknown browsers already wait", async () => {
    const { ask, begun, shed, settle } = openTurns(2);
    for (let i = 0; i < 34; i++) void ask(`stranger ${i}`, false);
    const refused = (max: number) => ({
      code: "service_unavailable",
      message: new RegExp(`waiting: expected at most ${max}, found ${max + 1}; try again in`),
    });
    await assert.rejects(ask("one too many", false), refused(32));
    for (let i = 0; i < 64; i++) void ask(`known ${i}`, true);
    await settle();
    assert.equal(shed.count, 1);
    await assert.rejects(ask("a known one too many", true), refused(64));
    assert.deepEqual(begun, ["stranger 0", "stranger 1"]);
  });

  test("admits at most 4 waiting hashes of an account and 8 of a network", async () => {
    for (const [isKnown, eachMax, owners] of [
      [true, 4, "account"],
      [false, 8, "network"],
    ] as const) {
      const { ask, begun, drain, settle } = openTurns(1);
      for (let i = 0; i <= eachMax; i++) void ask(`own ${i}`, isKnown, "attacker");
      const found = `expected at most ${eachMax} per ${owners}, found ${eachMax + 1};`;
      const refused = { code: "service_unavailable", message: new RegExp(found) };
      await assert.rejects(ask("own, one too many", isKnown, "attacker"), refused);
      const other = ask("other", isKnown);
      await settle();
      await drain();
      await other;
      assert.deepEqual(begun.slice(0, 3), ["own 0", "own 1", "other"]);
      // The queue refuses a request with the same owner as the earlier requests.
      const shared = openTurns(1);
      for (let i = 0; i <= eachMax; i++) void shared.ask(`own ${i}`, isKnown, "all");
      await assert.rejects(shared.ask("other", isKnown, "all"), refused);
    }
  });

  test("gives every fourth turn to an unknown browser while known browsers wait", async () => {
    const { ask, begun, drain, settle } = openTurns(1);
    for (let i = 0; i < 20; i++) void ask(`known ${i}`, true);
    void ask("stranger 0", false);
    void ask("stranger 1", false);
    await settle();
    await drain();
    assert.deepEqual([begun.indexOf("stranger 0"), begun.indexOf("stranger 1")], [4, 8]);
  });

  test("runs at most three hashes simultaneously, and leaves one core free", async () => {
    const { ask, begun, ends, settle } = openTurns();
    const atOnce = Math.max(1, Math.min(3, availableParallelism() - 1));
    for (let i = 0; i < 8; i++) void ask(`stranger ${i}`, false);
    await settle();
    assert.equal(begun.length, atOnce);
    ends[0]!();
    await settle();
    assert.equal(begun.length, atOnce + 1);
  });

  test("prefers known browsers to unknown ones, even after a hash failed", async () => {
    const { ask, begun, ends, settle } = openTurns(1);
    const first = ask("first", false);
    const all = [ask("stranger", false), ask("known", true)];
    ends[0]!(new Error("the store is away"));
    await assert.rejects(first, /the store is away/);
    await settle();
    assert.deepEqual(begun, ["first", "known"]);
    ends[1]!();
    await settle();
    ends[2]!();
    await Promise.all(all);
    assert.deepEqual(begun, ["first", "known", "stranger"]);
  });
});
