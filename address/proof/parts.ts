// `executable-address/proof/parts`: encoders for a program that makes up a chain and answers
// requests for its proofs, such as the trial of receivers in `executable-address-shop`. The names
// may change in any release. Others use `executable-address/proof`.

export {
  encodeReceipt,
  encodeTransaction,
  headersOf,
  type Json,
} from "./build/fields.ts";
export { buildProof, type TrieEntry } from "./build/trie.ts";
export { encodeCount, encodeRlp } from "./rlp.ts";
export { vaultCodes } from "./vault-code.ts";
