// Verifies proofs in Merkle Patricia tries. A proof consists of the nodes from a trusted root to a
// key. If the key is missing, the last node shows its absence. Source: Yellow Paper, appendix D,
// and EIP-1186, which defines the list of nodes.

import { toHex } from "../abi/hex.ts";
import type { Keccak } from "../keccak/keccak.ts";
import { invalidProof } from "./error.ts";
import { decodeRlp, expectBytes, type Rlp, sameBytes } from "./rlp.ts";

/**
 * Returns the value at `key` in the trie with this `root`. Returns undefined if the proof shows
 * that the trie has no such key.
 *
 * @param root 32 bytes
 * @param nodes exactly the nodes on the path to the key, from the root down. A node of less than 32
 *   bytes is not listed, because its parent contains it
 * @throws {ProofError} `invalid_proof` if the nodes prove neither a value nor the absence of the
 *   key
 */
export function proveInTrie(
  root: Uint8Array,
  key: Uint8Array,
  nodes: readonly Uint8Array[],
  keccak: Keccak,
): Uint8Array | undefined {
  const path = toNibbles(key);
  let used = 0;
  let at = 0;
  let next: Rlp = root;
  const done = (value: Uint8Array | undefined) => {
    if (used === nodes.length) return value;
    throw invalidProof(`trie: expected ${used} nodes, found ${nodes.length}`);
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
      if (step === undefined) return done(readValue(node[16]));
      at += 1;
      next = node[step]!;
      continue;
    }
    if (node.length !== 2)
      throw invalidProof(`trie: expected a node with 2 or 17 items, found ${node.length}`);
    const [isLeaf, part] = decodePath(node[0]);
    const isOnPath = part.every((nibble, index) => nibble === path[at + index]);
    at += part.length;
    if (!isOnPath || (isLeaf && at !== path.length)) return done(undefined);
    if (isLeaf) return done(readValue(node[1]) ?? emptyLeaf());
    next = node[1]!;
    const hasChild = !(next instanceof Uint8Array && next.length === 0);
    if (part.length === 0 || !hasChild) {
      const found = `a path of ${part.length} nibbles and ${hasChild ? "a" : "no"} child`;
      throw invalidProof(`trie: expected an extension with a path and a child, found ${found}`);
    }
  }

  function take(hash: Uint8Array): Uint8Array {
    const node = nodes[used++];
    const found = node && keccak(node);
    if (found && sameBytes(found, hash)) return node;
    // A malicious parent node can contain a longer hash, so the message shows only 32 bytes.
    const wanted = toHex(hash.subarray(0, 32));
    throw invalidProof(`trie: expected node ${wanted}, found ${found ? toHex(found) : "none"}`);
  }
}

const emptyNode = Uint8Array.of(0x80);

function emptyLeaf(): never {
  throw invalidProof("trie: expected a leaf with a value, found 0 bytes");
}

function readValue(item: Rlp | undefined): Uint8Array | undefined {
  const value = expectBytes(item, "trie's value");
  return value.length > 0 ? value : undefined;
}

export function toNibbles(bytes: Uint8Array): number[] {
  return Array.from(bytes).flatMap((byte) => [byte >> 4, byte & 15]);
}

/**
 * Decodes the path of a leaf or an extension node, which both have two items. Also returns whether
 * the node is a leaf.
 */
function decodePath(item: Rlp | undefined): [boolean, number[]] {
  const bytes = expectBytes(item, "trie's path");
  const [flags, ...rest] = toNibbles(bytes);
  if (flags === undefined || flags > 3 || (flags % 2 === 0 && rest[0] !== 0)) {
    const found = toHex(bytes.subarray(0, 1));
    throw invalidProof(`trie: expected a path with valid flags, found ${found}`);
  }
  return [flags >= 2, flags % 2 === 0 ? rest.slice(1) : rest];
}
