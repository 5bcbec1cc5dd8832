// Proofs in Merkle Patricia tries: the nodes from a root that somebody trusts down to a key, or to
// where it would be. Yellow paper, appendix D; the list is that of EIP-1186.

import { toHex } from "../abi/hex.ts";
import type { Keccak } from "../keccak/keccak.ts";
import { invalidProof } from "./error.ts";
import { bytesOf, decodeRlp, encodeRlp, type Rlp, sameBytes } from "./rlp.ts";

/**
 * The value that the trie with this `root` has at `key`, undefined where it has none.
 *
 * @param root 32 bytes
 * @param nodes from the root down, each one that the way to the key touches and no other; a node of
 *   less than 32 bytes stands within the one above it
 * @throws {ProofError} `invalid_proof` where they do not show it
 */
export function proveInTrie(
  root: Uint8Array,
  key: Uint8Array,
  nodes: readonly Uint8Array[],
  keccak: Keccak,
): Uint8Array | undefined {
  const path = nibblesOf(key);
  let used = 0;
  let at = 0;
  let next: Rlp = root;
  const done = (value: Uint8Array | undefined) => {
    if (used !== nodes.length) throw invalidProof("trie: nodes behind the last");
    return value;
  };
  if (nodes.length === 0 && sameBytes(root, keccak(emptyNode))) return undefined;
  for (;;) {
    if (next instanceof Uint8Array && next.length === 0) return done(undefined);
    const node: Rlp = next instanceof Uint8Array ? decodeRlp(take(next)) : next;
    if (node instanceof Uint8Array) {
      if (node.length === 0 && used === 1) return done(undefined);
      throw invalidProof(`trie: expected a node, found ${node.length} bytes`);
    }
    if (node.length === 17) {
      const step = path[at];
      if (step === undefined) return done(valueIn(node[16]));
      at += 1;
      next = node[step]!;
      continue;
    }
    if (node.length !== 2)
      throw invalidProof(`trie: expected a node of 2 or 17, found ${node.length}`);
    const [isLeaf, part] = partOf(node[0]);
    const isOnWay = part.every((nibble, index) => nibble === path[at + index]);
    at += part.length;
    if (!isOnWay || (isLeaf && at !== path.length)) return done(undefined);
    if (isLeaf) return done(valueIn(node[1]) ?? emptyLeaf());
    next = node[1]!;
    if (part.length === 0 || (next instanceof Uint8Array && next.length === 0))
      throw invalidProof("trie: an extension to nowhere");
  }

  function take(hash: Uint8Array): Uint8Array {
    const node = nodes[used++];
    if (!node) throw invalidProof("trie: a node is missing");
    const found = keccak(node);
    if (!sameBytes(found, hash))
      throw invalidProof(`trie: wanted node ${toHex(hash)}, found ${toHex(found)}`);
    return node;
  }
}

const emptyNode = Uint8Array.of(0x80);

function emptyLeaf(): never {
  throw invalidProof("trie: a leaf without a value");
}

function valueIn(item: Rlp | undefined): Uint8Array | undefined {
  const value = bytesOf(item, "trie's value");
  return value.length > 0 ? value : undefined;
}

function nibblesOf(bytes: Uint8Array): number[] {
  return Array.from(bytes).flatMap((byte) => [byte >> 4, byte & 15]);
}

/** Whether a node of two is a leaf, and the part of the way that it stands for. */
function partOf(item: Rlp | undefined): [boolean, number[]] {
  const [flags, ...rest] = nibblesOf(bytesOf(item, "trie's path"));
  if (flags === undefined || flags > 3 || (flags % 2 === 0 && rest[0] !== 0))
    throw invalidProof("trie: a path of no known kind");
  return [flags >= 2, flags % 2 === 0 ? rest.slice(1) : rest];
}

/** One entry of a trie that is built whole. No key may be the beginning of another. */
export type TrieEntry = { readonly key: Uint8Array; readonly value: Uint8Array };

/**
 * The root of the trie of all `entries`, and the nodes that {@link proveInTrie} takes for `key`.
 *
 * @param entries at least one; none with an empty value
 */
export function buildProof(
  entries: readonly TrieEntry[],
  key: Uint8Array,
  keccak: Keccak,
): { root: Uint8Array; nodes: Uint8Array[] } {
  const way = nibblesOf(key);
  const nodes: Uint8Array[] = [];
  const leaves = entries.map(({ key, value }) => ({ path: nibblesOf(key), value }));
  const root = keccak(encoded(build(leaves, 0), 0, true));
  return { root, nodes: nodes.reverse() };

  function encoded(node: { item: Rlp; path: readonly number[] }, at: number, isRoot = false) {
    const bytes = encodeRlp(node.item);
    const isOnWay = node.path.slice(0, at).every((nibble, index) => nibble === way[index]);
    if (isOnWay && (isRoot || bytes.length >= 32)) nodes.push(bytes);
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
