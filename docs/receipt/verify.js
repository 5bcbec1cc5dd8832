// node verify.js receipt.json: what a receipt proves, by viem and @ethereumjs alone. Only the terms
// are read, not the `intent` beside them. Compare each block that it prints with your own node's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { verifyMerkleProof } from "@ethereumjs/mpt";
import { concat, fromRlp, getContractAddress, hexToBytes, keccak256, slice, toHex } from "viem";

const from = "0x00000000b4Ae95D828D2274DCe26cfa9199810De";
const prefix = "0x5f5f601c380380601c5f395f335af43d5f5f3e5f3d91601a57fd5bf302d616e0";
const executed = "0x76787dbd4cf201a1655ade6889aeb3b4f0ec211e67f5a3b4f05ad4ff124e3cd1";
const closed = "0x1294ad7c9f5dfedf7179ece44f5d55163889fd523614a369f2aa2b25c109c74b";

const { format, record, proof } = JSON.parse(readFileSync(process.argv[2], "utf8"));
assert.equal(format, "executable-address-receipt/1");
const bytecode = concat([prefix, record.terms]);
const address = getContractAddress({
  opcode: "CREATE2",
  from,
  salt: toHex(0, { size: 32 }),
  bytecode,
});
assert.equal(record.address.toLowerCase(), address.toLowerCase(), "another address");
const [expiry, chainId] = [4, 7].map((at) => Number(slice(record.terms, 32 * at, 32 * at + 32)));
const { header, account: nodes } = proof.proof;
assert.equal(keccak256(header), proof.block.hash.toLowerCase(), "another header");
const fields = fromRlp(header, "hex");
const key = hexToBytes(keccak256(address));
const options = { useKeyHashing: false, root: hexToBytes(fields[3]) };
const account = await verifyMerkleProof(
  key,
  nodes.map((node) => hexToBytes(node)),
  options,
);
const code = account ? fromRlp(account, "hex")[3] : keccak256("0x");
const isLate = Number(fields[11]) > expiry;
const found = {
  [executed]: "executed",
  [closed]: isLate && "closed",
  [keccak256("0x")]: isLate ? "never" : "open",
};
assert.deepEqual([proof.outcome, proof.chainId], [found[code], chainId], "the proof shows another");
const block = `block ${Number(fields[8])} of chain ${chainId}`;
console.log(`if ${block} is ${proof.block.hash}, then ${address} is ${found[code]}`);
