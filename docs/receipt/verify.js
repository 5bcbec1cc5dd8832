// node verify.js receipt.json: verifies a receipt with viem and @ethereumjs. Prints the outcome.
// Ignores `intent`, the execution, and payments. Compare the printed block with your node's block.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { verifyMerkleProof } from "@ethereumjs/mpt";
import { concat, fromRlp, getCreate2Address, hexToBytes, keccak256, slice, toHex } from "viem";

const from = "0x00000000b4Ae95D828D2274DCe26cfa9199810De";
const prefix = "0x5f5f601c380380601c5f395f335af43d5f5f3e5f3d91601a57fd5bf302d616e0";
const executed = "0x76787dbd4cf201a1655ade6889aeb3b4f0ec211e67f5a3b4f05ad4ff124e3cd1";
const closed = "0x1294ad7c9f5dfedf7179ece44f5d55163889fd523614a369f2aa2b25c109c74b";

const { format, record, proof } = JSON.parse(readFileSync(process.argv[2], "utf8"));
assert.equal(format, "executable-address-receipt/1", "another format");
const bytecode = concat([prefix, record.terms]);
const address = getCreate2Address({ from, salt: toHex(0, { size: 32 }), bytecode });
assert.equal(record.address.toLowerCase(), address.toLowerCase(), "another address");
const [expiry, chainId] = [4, 7].map((at) => Number(slice(record.terms, 32 * at, 32 * at + 32)));
assert.equal(keccak256(proof.proof.header), proof.block.hash.toLowerCase(), "another header");
const header = fromRlp(proof.proof.header, "hex");
const options = { useKeyHashing: true, root: hexToBytes(header[3]) };
const nodes = proof.proof.account.map((node) => hexToBytes(node));
const account = await verifyMerkleProof(hexToBytes(address), nodes, options);
const code = account ? fromRlp(account, "hex")[3] : keccak256("0x");
const isLate = Number(header[11]) > expiry;
const unset = { [keccak256("0x")]: isLate ? "never" : "open", [closed]: isLate && "closed" };
const outcome = code === executed ? "executed" : unset[code];
assert.deepEqual([proof.outcome, proof.chainId], [outcome, chainId], "another outcome or chain");
console.log(`if block ${Number(header[8])} is ${proof.block.hash}, then ${address} is ${outcome}`);
