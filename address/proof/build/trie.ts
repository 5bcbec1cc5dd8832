// Builds complete Merkle Patricia tries in order to prove one of their entries. Verification does
// not need this code, so a page that only verifies does not load it.

import type { Keccak } from "../../keccak/keccak.ts";
import { encodeRlp, type Rlp } from "../rlp.ts";
import { toNibbles } from "../trie.ts";

/** An entry of a trie. No key may be a prefix of another. */
export type TrieEntry = { readonly key: Uint8Array; readonly value: Uint8Array };

/**
 * Builds a trie that contains `entries`. Returns its root, and the nodes with which `proveInTrie`
 * proves the value at `key`.
 *
 * @param entries at least one, without empty values
 */
export function buildProof(
  entries: readonly TrieEntry[],
  key: Uint8Array,
  keccak: Keccak,
): { root: Uint8Array; nodes: Uint8Array[] } {
  const target = toNibbles(key);
  const nodes: Uint8Array[] = [];
  const leaves = entries.map(({ key, value }) => ({ path: toNibbles(key), value }));
  const root = keccak(encoded(build(leaves, 0), 0, true));
  return { root, nodes: nodes.reverse() };

  function encoded(node: { item: Rlp; path: readonly number[] }, at: number, isRoot = false) {
    const bytes = encodeRlp(node.item);
    const isOnPath = node.path.slice(0, at).every((nibble, index) => nibble === target[index]);
    if (isOnPath && (isRoot || bytes.length >= 32)) nodes.push(bytes);
    return bytes;
  }

  function reference(leaves: readonly Leaf[], at: number): Rlp {
    const node = build(leaves, at);
    const bytes = encoded(node, at);
    return bytes.length < 32 ? node.item : keccak(bytes);
  }

  function build(leaves: readonly Leaf[], at: number): { item: Rlp; path: readonly number[] } {
    const { path, value } = leaves[0]!;
    if (leaves.length === 1) return { item: [pathBytes(path.slice(at), true), value], path };
    let end = at;
    while (leaves.every((leaf) => leaf.path[end] === path[end])) end += 1;
    if (end > at)
      return { item: [pathBytes(path.slice(at, end), false), reference(leaves, end)], path };
    const slots = Array.from({ length: 16 }, (_, nibble): Rlp => {
      const below = leaves.filter((leaf) => leaf.path[at] === nibble);
      return below.length > 0 ? reference(below, at + 1) : new Uint8Array();
    });
    return { item: [...slots, new Uint8Array()], path };
  }
}

type Leaf = { readonly path: readonly number[]; readonly value: Uint8Array };

function pathBytes(nibbles: readonly number[], isLeaf: boolean): Uint8Array {
  const flags = (isLeaf ? 2 : 0) + (nibbles.length % 2);
  const all = nibbles.length % 2 === 1 ? [flags, ...nibbles] : [flags, 0, ...nibbles];
  return Uint8Array.from({ length: all.length / 2 }, (_, i) => all[2 * i]! * 16 + all[2 * i + 1]!);
}
