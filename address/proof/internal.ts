// `executable-address/proof/internal`: encoders for a program that simulates a chain and serves its
// proofs, such as the test of webhook receivers in `executable-address-shop`. The names may change
// in any release. Other programs should use `executable-address/proof`.

export {
  encodeReceipt,
  encodeTransaction,
  type Json,
  listHeaders,
} from "./build/fields.ts";
export { buildProof, type TrieEntry } from "./build/trie.ts";
export { encodeCount, encodeRlp } from "./rlp.ts";
export { vaultCodes } from "./vault-code.ts";
