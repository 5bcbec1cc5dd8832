// Proves that a vault's events happened in a transaction. A proof contains the transaction, its
// receipt with the logs, and block headers. The headers lead from the transaction's block to a
// block whose hash is trusted.

import { parseAddress } from "../abi/checksum.ts";
import { isSame, toHex } from "../abi/hex.ts";
import { transferOf } from "../abi/token.ts";
import { describeType, describeValue } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import type { Keccak } from "../keccak/keccak.ts";
import { decodeFactoryEvent } from "../status/factory-events.ts";
import { StatusError } from "../status/rpc.ts";
import type { BlockReference, TokenAmount } from "../status/shape.ts";
import { invalidProof } from "./error.ts";
import { type Header, readTrustedHeader } from "./header.ts";
import {
  type ProofOptions,
  parseHexIn,
  parseNodes,
  type TrustedBlock,
  verifySubject,
} from "./outcome.ts";
import { decodeRlp, encodeCount, encodeRlp, expectBytes, expectList } from "./rlp.ts";
import { proveInTrie } from "./trie.ts";

/**
 * A transaction in a block, and its receipt.
 *
 * `headers` are RLP-encoded block headers, from the transaction's block up to the trusted block.
 * Each header is the parent of the next header. If the transaction's block itself is trusted,
 * `headers` contains only that block's header.
 */
export type TransactionProof = {
  readonly headers: readonly Hex[];
  readonly transactionIndex: number;
  readonly receipt: readonly Hex[];
  readonly transaction: readonly Hex[];
};

/** `depth` is the number of blocks after the transaction's block, including the trusted block. */
type ProvedTransaction = {
  readonly transactionHash: Hex;
  readonly block: BlockReference;
  readonly depth: number;
};

/**
 * `held` and `left` are the vault's balances of the intent's token before and after its calls.
 * `moved` lists the transfers from the vault according to the tokens' logs in the same transaction.
 * Transfers of native coin have no logs, and a token can log anything.
 */
export type ProvedExecution = ProvedTransaction & {
  readonly held: string;
  readonly left: string;
  readonly moved: readonly (TokenAmount & { readonly to: Hex })[];
};

/** The payments in one token that one transaction made to the vault. */
export type ProvedPayment = ProvedTransaction & {
  readonly payments: readonly { readonly from: Hex; readonly amount: string }[];
};

/**
 * The amounts that were sent to `recovery`, in base units. The zero address means the native coin.
 */
export type ProvedRecovery = ProvedTransaction & { readonly recoveries: readonly TokenAmount[] };

/**
 * Proves the execution of `record`.
 *
 * @throws the errors of `proveOutcome`
 */
export function proveExecution(
  record: AddressRecord,
  proof: TransactionProof,
  block: TrustedBlock,
  options: ProofOptions = {},
): ProvedExecution {
  const { events, intent, logs, ...place } = proveEvents(record, proof, block, options);
  const [execution, ...more] = events.filter((event) => event.name === "Executed");
  if (!execution || more.length > 0) {
    const count = execution ? 1 + more.length : "none";
    throw invalidProof(`receipt: expected one execution of this address, found ${count}`);
  }
  if (!isSame(execution.token, intent.token))
    throw invalidProof(
      `receipt: expected an execution with token ${intent.token}, found ${execution.token}`,
    );
  const moved = decodeTransfers(logs)
    .filter(({ from }) => isSame(from, record.address))
    .map(({ token, to, amount }) => ({ token, to, amount }));
  return { ...place, held: String(execution.held), left: String(execution.left), moved };
}

/**
 * Proves the amounts that one transaction paid to `record` in the intent's token or
 * `options.token`.
 *
 * @throws the errors of `proveOutcome`
 */
export function provePayment(
  record: AddressRecord,
  proof: TransactionProof,
  block: TrustedBlock,
  options: ProofOptions & { readonly token?: Hex } = {},
): ProvedPayment {
  const { logs, events: _, intent, ...place } = proveEvents(record, proof, block, options);
  const wanted = options.token ?? intent.token;
  const payments = decodeTransfers(logs)
    .filter(({ token, to }) => isSame(token, wanted) && isSame(to, record.address))
    .map(({ from, amount }) => ({ from, amount }));
  if (payments.length === 0)
    throw invalidProof("receipt: expected a payment to this address, found none");
  return { ...place, payments };
}

/**
 * Proves the amounts that one transaction returned from the address to `recovery`.
 *
 * @throws the errors of `proveOutcome`
 */
export function proveRecovery(
  record: AddressRecord,
  proof: TransactionProof,
  block: TrustedBlock,
  options: ProofOptions = {},
): ProvedRecovery {
  const { events, intent: _, logs: __, ...place } = proveEvents(record, proof, block, options);
  const recoveries = events.flatMap((event) =>
    event.name === "Recovered"
      ? [{ token: parseAddress(event.token), amount: String(event.amount) }]
      : [],
  );
  if (recoveries.length === 0)
    throw invalidProof("receipt: expected a recovery of this address, found none");
  return { ...place, recoveries };
}

function proveEvents(
  record: AddressRecord,
  proof: TransactionProof,
  block: TrustedBlock,
  options: ProofOptions,
) {
  const { intent, address, factory, keccak } = verifySubject(record, block, options);
  const { header, depth } = readChain(proof?.headers, block.hash, keccak);
  const index = proof.transactionIndex;
  if (!Number.isSafeInteger(index) || index < 0)
    throw invalidProof(
      `transactionIndex: expected an integer of at least 0, found ${describeValue(index)}`,
    );
  const key = encodeRlp(encodeCount(index));
  const find = (root: Uint8Array, nodes: unknown, what: string) => {
    const value = proveInTrie(root, key, parseNodes(nodes, what), keccak);
    if (value === undefined)
      throw invalidProof(`expected a ${what} at index ${index} in the block, found none`);
    return value;
  };
  const logs = readReceiptLogs(find(header.receiptsRoot, proof.receipt, "receipt"));
  const transaction = find(header.transactionsRoot, proof.transaction, "transaction");
  const { number, hash, timestamp } = header;
  return {
    intent,
    logs,
    events: logs.flatMap((log) => decodeVaultEvent(log, factory, address)),
    transactionHash: toHex(keccak(transaction)),
    block: { number, hash, timestamp },
    depth,
  };
}

/** Verifies a chain of headers. Returns the first header and the number of headers after it. */
function readChain(headers: unknown, trusted: Hex, keccak: Keccak) {
  if (!Array.isArray(headers))
    throw invalidProof(`headers: expected a list, found ${describeType(headers)}`);
  let above: Header = readTrustedHeader(parseHexIn(headers.at(-1), "headers"), trusted, keccak);
  for (const header of headers.slice(0, -1).reverse())
    above = readTrustedHeader(parseHexIn(header, "headers"), toHex(above.parentHash), keccak);
  return { header: above, depth: headers.length - 1 };
}

/** Decodes `log` if it is an event of the vault. */
function decodeVaultEvent({ address, topics, data }: Log, factory: Hex, vault: Hex) {
  if (address !== factory.toLowerCase()) return [];
  try {
    const event = decodeFactoryEvent({ topics, data });
    const isOurs = event && "vault" in event && event.vault === vault.toLowerCase();
    return isOurs ? [event] : [];
  } catch (error) {
    if (error instanceof StatusError) return [];
    throw error;
  }
}

/** Decodes the ERC-20 transfers in `logs`. */
function decodeTransfers(logs: readonly Log[]) {
  return logs.flatMap((log) => {
    const transfer = transferOf(log);
    if (!transfer) return [];
    const { from, to, amount } = transfer;
    return [
      {
        token: parseAddress(log.address),
        from: parseAddress(from),
        to: parseAddress(to),
        amount: String(amount),
      },
    ];
  });
}

export type Log = { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex };

/**
 * Decodes the logs in the receipt of a successful transaction. Ignores fields after the first four,
 * because some chains append fields. For example, OP Stack chains append fields for deposits.
 *
 * @throws {ProofError} `invalid_proof` if the receipt is malformed or the transaction failed
 */
export function readReceiptLogs(value: Uint8Array): Log[] {
  const isTyped = value[0] !== undefined && value[0] < 0x80;
  const fields = expectList(decodeRlp(isTyped ? value.subarray(1) : value), "receipt", 4, 16);
  const status = expectBytes(fields[0], "receipt's status");
  if (status.length !== 1 || status[0] !== 1)
    throw invalidProof(`receipt: expected success, found status ${toHex(status)}`);
  expectBytes(fields[2], "receipt's bloom", 256);
  return expectList(fields[3], "receipt's logs").map((item) => {
    const [address, topics, data] = expectList(item, "log", 3, 3);
    return {
      address: toHex(expectBytes(address, "log's address", 20)),
      topics: expectList(topics, "log's topics", 0, 4).map((topic) =>
        toHex(expectBytes(topic, "log's topic", 32)),
      ),
      data: toHex(expectBytes(data, "log's data")),
    };
  });
}
