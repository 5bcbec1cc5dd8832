// Proofs in Merkle Patricia tries: the nodes from a root that somebody trusts down to a key, or to
// where it would be. Yellow paper, appendix D; the list is that of EIP-1186.

import { toHex } from "../abi/hex.ts";
import type { Keccak } from "../keccak/keccak.ts";
import { invalidProof } from "./error.ts";
import { bytesOf, decodeRlp, type Rlp, sameBytes } from "./rlp.ts";

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
      throw invalidProof(`trie: expected node ${toHex(hash)}, found ${toHex(found)}`);
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

export function nibblesOf(bytes: Uint8Array): number[] {
  return Array.from(bytes).flatMap((byte) => [byte >> 4, byte & 15]);
}

/** Whether a node of two is a leaf, and the part of the way that it stands for. */
function partOf(item: Rlp | undefined): [boolean, number[]] {
  const [flags, ...rest] = nibblesOf(bytesOf(item, "trie's path"));
  if (flags === undefined || flags > 3 || (flags % 2 === 0 && rest[0] !== 0))
    throw invalidProof("trie: a path of no known kind");
  return [flags >= 2, flags % 2 === 0 ? rest.slice(1) : rest];
}
