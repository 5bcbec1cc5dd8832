// Encodes headers, receipts, and transactions from JSON-RPC as the bytes that a chain hashes. The
// caller hashes the bytes, and compares the result with the expected hash. A wrong layout can
// therefore prevent a proof, but never cause a wrong proof.

import { concatBytes } from "@noble/hashes/utils.js";
import { fromHex } from "../../abi/hex.ts";
import { encodeCount, encodeRlp, type Rlp } from "../rlp.ts";

/** A JSON object from a node. */
export type Json = Readonly<Record<string, unknown>>;

/**
 * Encodes hex as bytes.
 * @throws {InvalidError} if it is not hex
 */
const data = (value: unknown): Uint8Array => fromHex(value);
/** Encodes a quantity such as `0x1b4` as an RLP integer. */
const quantity = (value: unknown): Uint8Array => encodeCount(BigInt(value as string));
/**
 * Encodes hex as bytes, and null as an empty byte string. A contract creation's recipient is null.
 */
const dataOrNone = (value: unknown): Uint8Array => (value == null ? new Uint8Array() : data(value));

type Field = readonly [name: string, encode: (value: unknown) => Rlp];

const headerFields: readonly Field[] = [
  ["parentHash", data],
  ["sha3Uncles", data],
  ["miner", data],
  ["stateRoot", data],
  ["transactionsRoot", data],
  ["receiptsRoot", data],
  ["logsBloom", data],
  ["difficulty", quantity],
  ["number", quantity],
  ["gasLimit", quantity],
  ["gasUsed", quantity],
  ["timestamp", quantity],
  ["extraData", data],
  ["mixHash", data],
  ["nonce", data],
];

/**
 * The header fields that hard forks added, in order. London and Shanghai added one field each,
 * Cancun three, and Prague one. The fields `blockAccessListHash` and `slotNumber` are planned for
 * Amsterdam.
 */
const laterFields: readonly Field[] = [
  ["baseFeePerGas", quantity],
  ["withdrawalsRoot", data],
  ["blobGasUsed", quantity],
  ["excessBlobGas", quantity],
  ["parentBeaconBlockRoot", data],
  ["requestsHash", data],
  ["blockAccessListHash", data],
  ["slotNumber", quantity],
];

/** The fields that Avalanche's C-Chain added, in the order of its headers. */
const avalancheFields: readonly Field[] = [
  ["extDataHash", data],
  ["baseFeePerGas", quantity],
  ["extDataGasUsed", quantity],
  ["blockGasCost", quantity],
  ["blobGasUsed", quantity],
  ["excessBlobGas", quantity],
  ["parentBeaconBlockRoot", data],
];

/**
 * Yields the possible encodings of a JSON-RPC block's header. The first encoding contains every
 * known field. The other encodings omit the newest fields, because some nodes, such as Arbitrum's,
 * return fields that are not part of the header. If none of the encodings has the block's hash, the
 * chain encodes headers differently.
 */
export function* listHeaders(block: Json): Generator<Uint8Array> {
  const first = encode(block, headerFields);
  const layouts = block.extDataHash === undefined ? [laterFields] : [avalancheFields, laterFields];
  for (const fields of layouts) {
    const known = fields.filter(([name]) => block[name] != null);
    for (let count = known.length; count >= 0; count--)
      yield encodeRlp([...first, ...encode(block, known.slice(0, count))]);
  }
}

const encode = (from: Json, fields: readonly Field[]): Rlp[] =>
  fields.map(([name, encode]) => encode(from[name]));

/** Encodes a receipt for the receipts trie. */
export function encodeReceipt(receipt: Json): Uint8Array {
  const logs = (receipt.logs as Json[]).map((log) => [
    data(log.address),
    (log.topics as unknown[]).map(data),
    data(log.data),
  ]);
  const type = BigInt((receipt.type as string | undefined) ?? 0);
  const fields: Rlp[] = [
    receipt.status == null ? data(receipt.root) : quantity(receipt.status),
    quantity(receipt.cumulativeGasUsed),
    data(receipt.logsBloom),
    logs,
  ];
  if (type === optimismDeposit)
    for (const name of ["depositNonce", "depositReceiptVersion"])
      if (receipt[name] != null) fields.push(quantity(receipt[name]));
  return withType(type, fields);
}

const optimismDeposit = 0x7en;

const accessList = (value: unknown): Rlp =>
  (value as Json[]).map(({ address, storageKeys }) => [
    data(address),
    (storageKeys as unknown[]).map(data),
  ]);
const hashes = (value: unknown): Rlp => (value as unknown[]).map(data);
const authorizations = (value: unknown): Rlp =>
  (value as Json[]).map((each) => [
    quantity(each.chainId),
    data(each.address),
    quantity(each.nonce),
    quantity(each.yParity),
    quantity(each.r),
    quantity(each.s),
  ]);
const flag = (value: unknown): Rlp => encodeCount(value ? 1 : 0);
const quantityOrZero = (value: unknown): Rlp => quantity(value ?? "0x0");

const call: readonly Field[] = [
  ["gas", quantity],
  ["to", dataOrNone],
  ["value", quantity],
  ["input", data],
];
const signature: readonly Field[] = [
  ["v", quantity],
  ["r", quantity],
  ["s", quantity],
];
const feeMarket: readonly Field[] = [
  ["chainId", quantity],
  ["nonce", quantity],
  ["maxPriorityFeePerGas", quantity],
  ["maxFeePerGas", quantity],
  ...call,
  ["accessList", accessList],
];

/** The fields by transaction type: legacy, EIP-2930, 1559, 4844, 7702, and OP Stack deposits. */
const transactionFields: Readonly<Record<string, readonly Field[]>> = {
  0: [["nonce", quantity], ["gasPrice", quantity], ...call, ...signature],
  1: [
    ["chainId", quantity],
    ["nonce", quantity],
    ["gasPrice", quantity],
    ...call,
    ["accessList", accessList],
    ...signature,
  ],
  2: [...feeMarket, ...signature],
  3: [...feeMarket, ["maxFeePerBlobGas", quantity], ["blobVersionedHashes", hashes], ...signature],
  4: [...feeMarket, ["authorizationList", authorizations], ...signature],
  [String(optimismDeposit)]: [
    ["sourceHash", data],
    ["from", data],
    ["to", dataOrNone],
    ["mint", quantityOrZero],
    ["value", quantity],
    ["gas", quantity],
    ["isSystemTx", flag],
    ["input", data],
  ],
};

/** Encodes a transaction for the transactions trie. Returns undefined for an unknown type. */
export function encodeTransaction(transaction: Json): Uint8Array | undefined {
  const type = BigInt((transaction.type as string | undefined) ?? 0);
  const fields = transactionFields[String(type)];
  return fields && withType(type, encode(transaction, fields));
}

function withType(type: bigint, fields: Rlp): Uint8Array {
  const body = encodeRlp(fields);
  return type === 0n ? body : concatBytes(Uint8Array.of(Number(type)), body);
}
