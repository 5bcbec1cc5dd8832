// `executable-address/proof/internal`: encoders for tests that simulate a chain, for example in
// `executable-address-shop`. These tests need valid proofs. The names may change in any release.
// Other programs should use `executable-address/proof`.

export {
  encodeReceipt,
  encodeTransaction,
  type Json,
  listHeaders,
} from "./build/fields.ts";
export { buildProof, type TrieEntry } from "./build/trie.ts";
export { encodeCount, encodeRlp } from "./rlp.ts";
export { vaultCodes } from "./vault-code.ts";
