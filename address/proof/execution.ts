// Proves that the factory told of a vault in a transaction: a receipt in its block, the log in it,
// the transaction behind it, and the blocks from there up to one whose hash is trusted.

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
import { bytesIn, nodesOf, type ProofOptions, subjectOf, type TrustedBlock } from "./outcome.ts";
import { bytesOf, decodeRlp, encodeCount, encodeRlp, listOf } from "./rlp.ts";
import { proveInTrie } from "./trie.ts";

/**
 * A transaction of a block and its receipt.
 *
 * `headers`: RLP, from the transaction's block to the one that is trusted, each the parent of the
 * next. Where the transaction's own block is trusted it is the only one.
 */
export type TransactionProof = {
  readonly headers: readonly Hex[];
  readonly transactionIndex: number;
  readonly receipt: readonly Hex[];
  readonly transaction: readonly Hex[];
};

/** `depth`: how many blocks stand between the transaction's and the trusted one, and that one. */
type ProvedTransaction = {
  readonly transactionHash: Hex;
  readonly block: BlockReference;
  readonly depth: number;
};

/**
 * `held` and `left`: the vault's balance of the intent's token before and after its calls. `moved`:
 * each transfer away from the vault that a token told of in that transaction; native coin leaves no
 * log, and a token may tell what it likes.
 */
export type ProvedExecution = ProvedTransaction & {
  readonly held: string;
  readonly left: string;
  readonly moved: readonly (TokenAmount & { readonly to: Hex })[];
};

/** Amounts of one token that a transaction brought to the vault, and from whom. */
export type ProvedPayment = ProvedTransaction & {
  readonly payments: readonly { readonly from: Hex; readonly amount: string }[];
};

/** Amounts in base units that went to the intent's `recovery`; the zero address is native coin. */
export type ProvedRecovery = ProvedTransaction & { readonly recoveries: readonly TokenAmount[] };

/**
 * The execution of `record`.
 *
 * @throws as `proveOutcome`
 */
export function proveExecution(
  record: AddressRecord,
  proof: TransactionProof,
  block: TrustedBlock,
  options: ProofOptions = {},
): ProvedExecution {
  const { events, intent, logs, ...place } = proveEvents(record, proof, block, options);
  const [execution, more] = events.filter((event) => event.name === "Executed");
  if (!execution)
    throw invalidProof("receipt: the factory tells of no execution of this address in it");
  if (more) throw invalidProof("receipt: the factory tells of more than one execution in it");
  if (!isSame(execution.token, intent.token))
    throw invalidProof(`receipt: executed with token ${execution.token}, not ${intent.token}`);
  const moved = transfersIn(logs)
    .filter(({ from }) => isSame(from, record.address))
    .map(({ token, to, amount }) => ({ token, to, amount }));
  return { ...place, held: String(execution.held), left: String(execution.left), moved };
}

/**
 * Reads what one transaction paid to `record`, as the intent's token tells, or `options.token`.
 *
 * @throws as `proveOutcome`
 */
export function provePayment(
  record: AddressRecord,
  proof: TransactionProof,
  block: TrustedBlock,
  options: ProofOptions & { readonly token?: Hex } = {},
): ProvedPayment {
  const { logs, events: _, intent, ...place } = proveEvents(record, proof, block, options);
  const wanted = options.token ?? intent.token;
  const payments = transfersIn(logs)
    .filter(({ token, to }) => isSame(token, wanted) && isSame(to, record.address))
    .map(({ from, amount }) => ({ from, amount }));
  if (payments.length === 0) throw invalidProof("receipt: no payment to this address in it");
  return { ...place, payments };
}

/**
 * Proves what one transaction returned of `record`.
 *
 * @throws as `proveOutcome`
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
    throw invalidProof("receipt: the factory tells of no recovery of this address in it");
  return { ...place, recoveries };
}

function proveEvents(
  record: AddressRecord,
  proof: TransactionProof,
  block: TrustedBlock,
  options: ProofOptions,
) {
  const { intent, address, factory, keccak } = subjectOf(record, block, options);
  const { header, depth } = readChain(proof?.headers, block.hash, keccak);
  const index = proof.transactionIndex;
  if (!Number.isSafeInteger(index) || index < 0)
    throw invalidProof(
      `transactionIndex: expected an integer from 0, found ${describeValue(index)}`,
    );
  const key = encodeRlp(encodeCount(index));
  const find = (root: Uint8Array, nodes: unknown, what: string) => {
    const value = proveInTrie(root, key, nodesOf(nodes, what), keccak);
    if (value === undefined) throw invalidProof(`${what}: the block has none at ${index}`);
    return value;
  };
  const logs = readReceiptLogs(find(header.receiptsRoot, proof.receipt, "receipt"));
  const transaction = find(header.transactionsRoot, proof.transaction, "transaction");
  const { number, hash, timestamp } = header;
  return {
    intent,
    logs,
    events: logs.flatMap((log) => ofVault(log, factory, address)),
    transactionHash: toHex(keccak(transaction)),
    block: { number, hash, timestamp },
    depth,
  };
}

/** The first of the headers, and how many follow it up to the trusted one. */
function readChain(headers: unknown, trusted: Hex, keccak: Keccak) {
  if (!Array.isArray(headers))
    throw invalidProof(`headers: expected a list, found ${describeType(headers)}`);
  let above: Header = readTrustedHeader(bytesIn(headers.at(-1), "headers"), trusted, keccak);
  for (const header of headers.slice(0, -1).reverse())
    above = readTrustedHeader(bytesIn(header, "headers"), toHex(above.parentHash), keccak);
  return { header: above, depth: headers.length - 1 };
}

/** The factory's event of the vault that `log` is, if it is one. */
function ofVault({ address, topics, data }: Log, factory: Hex, vault: Hex) {
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

/** The transfers of ERC-20 tokens that `logs` tell of. */
function transfersIn(logs: readonly Log[]) {
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
 * The logs of a transaction that succeeded. What chains put behind the four fields of a receipt,
 * such as OP Stack's deposits, is left aside.
 *
 * @throws {ProofError} `invalid_proof` for anything else
 */
export function readReceiptLogs(value: Uint8Array): Log[] {
  const isTyped = value[0] !== undefined && value[0] < 0x80;
  const fields = listOf(decodeRlp(isTyped ? value.subarray(1) : value), "receipt", 4, 16);
  const status = bytesOf(fields[0], "receipt's status");
  if (status.length !== 1 || status[0] !== 1)
    throw invalidProof(`receipt: expected success, found status ${toHex(status)}`);
  bytesOf(fields[2], "receipt's bloom", 256);
  return listOf(fields[3], "receipt's logs").map((item) => {
    const [address, topics, data] = listOf(item, "log", 3, 3);
    return {
      address: toHex(bytesOf(address, "log's address", 20)),
      topics: listOf(topics, "log's topics", 0, 4).map((topic) =>
        toHex(bytesOf(topic, "log's topic", 32)),
      ),
      data: toHex(bytesOf(data, "log's data")),
    };
  });
}
