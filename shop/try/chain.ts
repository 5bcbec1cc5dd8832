// A simulated chain in memory for testing webhook receivers. The blocks have real headers, account
// proofs, and receipts. A receiver can therefore prove facts as on a real chain. The chain can be
// slow, stop responding, or reorganize.

import {
  type AddressRecord,
  executeCalldata,
  fromHex,
  type Hex,
  keccak256,
  recoverCalldata,
  toHex,
  zeroAddress,
} from "executable-address";
import {
  buildProof,
  encodeCount,
  encodeReceipt,
  encodeRlp,
  encodeTransaction,
  type Json,
  listHeaders,
  type TrieEntry,
  vaultCodes,
} from "executable-address/proof/internal";
import {
  executedTopic,
  type Rpc,
  RpcError,
  recoveredTopic,
  toQuantity,
  transferTopic,
} from "executable-address/status";
import type { Payment } from "executable-address/webhook";

type Account = { readonly code: Uint8Array; readonly balance: bigint };
/** The accounts after a block, by lowercase address. */
type State = ReadonlyMap<string, Account>;
type Block = {
  readonly json: Json & { hash: Hex };
  readonly receipts: Json[];
  readonly state: State;
};

const word = (value: bigint | string): string =>
  (typeof value === "bigint" ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, "0");
const zeros = (bytes: number): Hex => `0x${"00".repeat(bytes)}`;
const emptyTrie = toHex(keccak256(Uint8Array.of(0x80)));
const emptyList = toHex(keccak256(encodeRlp([])));

export type TryChain = ReturnType<typeof openTryChain>;

export function openTryChain(chainId: number) {
  const blocks: Block[] = [];
  let forks = 0;
  const trouble = { heldUntil: Promise.resolve(), isSilent: false };

  /** @param transaction the only transaction of the block, if any */
  function mine(state = blocks.at(-1)!.state, transaction?: Transaction, notBefore = 0): void {
    const place = { number: blocks.length, fork: forks, parent: blocks.at(-1) };
    blocks.push(makeBlock({ ...place, state, transaction, notBefore }));
  }
  const change = (record: AddressRecord, account: Account): State =>
    new Map(blocks.at(-1)!.state).set(record.address.toLowerCase(), account);
  mine(new Map([[zeroAddress, { code: new Uint8Array(), balance: 0n }]]));

  return {
    trouble,
    mine: () => mine(),
    pay(record: AddressRecord, amount: bigint): void {
      const { token } = record.intent;
      const topics = [transferTopic, `0x${word(token)}`, `0x${word(record.address)}`];
      const log = { address: token, topics, data: `0x${word(amount)}` };
      mine(change(record, { code: new Uint8Array(), balance: amount }), { input: "0x", log });
    },
    paymentTo: (record: AddressRecord) => findPayment(blocks, record),
    execute(record: AddressRecord): void {
      const held = blocks.at(-1)!.state.get(record.address.toLowerCase())?.balance ?? 0n;
      const left = held - BigInt(record.intent.amount);
      const code = vaultCodes(record.factory).executed;
      const topics = [executedTopic, `0x${word(record.address)}`, `0x${word(record.intent.token)}`];
      const log = { address: record.factory, topics, data: `0x${word(held)}${word(left)}` };
      const input = toHex(executeCalldata(record.terms));
      mine(change(record, { code, balance: left }), { input, log });
    },
    /**
     * Mines a transaction that returns the balance to `recovery`, as anyone can do after the
     * expiry. The calls do not run.
     */
    recover(record: AddressRecord): void {
      const held = blocks.at(-1)!.state.get(record.address.toLowerCase())?.balance ?? 0n;
      const code = vaultCodes(record.factory).closed;
      const topics = [
        recoveredTopic,
        `0x${word(record.address)}`,
        `0x${word(record.intent.token)}`,
      ];
      const log = { address: record.factory, topics, data: `0x${word(held)}` };
      const input = toHex(recoverCalldata(record.terms, [record.intent.token]));
      const afterExpiry = record.intent.expirationTimestamp + 1;
      mine(change(record, { code, balance: 0n }), { input, log }, afterExpiry);
    },
    /**
     * Simulates a reorganization: removes the newest `count` blocks. Blocks that are mined later
     * get different hashes than the removed blocks.
     */
    takeBack(count: number): void {
      blocks.splice(-count);
      forks += 1;
    },
    /** Responds to the JSON-RPC methods that webhook receivers use. */
    call: (async (method, params) => {
      await trouble.heldUntil;
      if (trouble.isSilent) throw new RpcError(-32000, "the node is unavailable");
      const answer = answers[method];
      if (!answer) throw new RpcError(-32601, `${method} is not supported`);
      return answer(blocks, params, chainId) ?? null;
    }) as Rpc,
  };
}

/**
 * Returns the latest transfer to the record's address. Returns undefined if there is none, or if
 * the transfer is not in the intent's token.
 */
function findPayment(
  blocks: readonly Block[],
  { address, intent }: AddressRecord,
): Payment | undefined {
  const logs = blocks.flatMap(({ receipts }) => receipts.flatMap((each) => each.logs as Json[]));
  const log = logs.findLast(({ topics }) => (topics as Hex[])[2] === `0x${word(address)}`);
  if (!log || log.address !== intent.token) return undefined;
  const { transactionHash, blockHash, blockNumber, data } = log as Record<string, Hex>;
  return {
    ...{ transactionHash: transactionHash!, blockHash: blockHash!, logIndex: 0 },
    ...{ blockNumber: Number(blockNumber), payer: intent.token, token: intent.token },
    amount: String(BigInt(data!)),
  };
}

/**
 * A transaction with one log. Transactions have no sender here, because webhook receivers do not
 * need it.
 */
type Transaction = { input: string; log: { address: Hex; topics: string[]; data: string } };
type Content = {
  number: number;
  fork: number;
  parent: Block | undefined;
  state: State;
  transaction: Transaction | undefined;
  /** Unix seconds. */
  notBefore: number;
};

function makeBlock({ number, fork, parent, state, transaction, notBefore }: Content): Block {
  const made = transaction && makeTransaction(number, fork, transaction);
  const first = (value: Uint8Array) =>
    buildProof([{ key: encodeRlp(encodeCount(0)), value }], encodeRlp(encodeCount(0)), keccak256);
  const computeRoot = (value: Uint8Array | undefined) =>
    value ? toHex(first(value).root) : emptyTrie;
  const json = {
    parentHash: parent?.json.hash ?? zeros(32),
    sha3Uncles: emptyList,
    miner: zeroAddress,
    stateRoot: toHex(buildProof(listEntries(state), new Uint8Array(32), keccak256).root),
    transactionsRoot: computeRoot(made && encodeTransaction(made.json)),
    receiptsRoot: computeRoot(made && encodeReceipt(made.receipt)),
    logsBloom: zeros(256),
    difficulty: "0x0",
    number: toQuantity(number),
    gasLimit: "0x1c9c380",
    gasUsed: made ? "0x15f90" : "0x0",
    timestamp: toQuantity(Math.max(nowSeconds(), readTime(parent) + 1, notBefore)),
    extraData: toHex(encodeCount(fork)),
    mixHash: zeros(32),
    nonce: zeros(8),
    baseFeePerGas: "0x7",
  };
  const hash = toHex(keccak256(listHeaders(json).next().value as Uint8Array));
  const place = { blockHash: hash, blockNumber: json.number, transactionIndex: "0x0" };
  const receipts = made ? [placed(made.receipt, place)] : [];
  return { json: { ...json, hash, transactions: made ? [made.json] : [] }, receipts, state };
}

const nowSeconds = () => Math.floor(Date.now() / 1000);
const readTime = (block: Block | undefined) => Number(block?.json.timestamp ?? 0);

const placed = (receipt: Json, place: Json): Json => ({
  ...receipt,
  ...place,
  logs: (receipt.logs as Json[]).map((log) => ({ ...log, ...place, logIndex: "0x0" })),
});

/** Returns a transaction and its receipt. The transaction calls the contract that emits the log. */
function makeTransaction(number: number, fork: number, { input, log }: Transaction) {
  const fields = {
    nonce: toQuantity(number),
    gasPrice: toQuantity(7 + fork),
    gas: "0x30d40",
    to: log.address,
    value: "0x0",
    input,
    ...{ v: "0x1b", r: "0x1", s: "0x1", type: "0x0" },
  };
  const hash = toHex(keccak256(encodeTransaction(fields)!));
  const receipt = {
    ...{ type: "0x0", status: "0x1", cumulativeGasUsed: "0x15f90", logsBloom: zeros(256) },
    transactionHash: hash,
    logs: [{ ...log, transactionHash: hash }],
  };
  return { json: { ...fields, hash }, receipt };
}

const listEntries = (state: State): TrieEntry[] =>
  [...state].flatMap(([address, { code }]) =>
    code.length === 0 && address !== zeroAddress
      ? []
      : [{ key: keccak256(fromHex(address)), value: encodeAccount(code) }],
  );

const encodeAccount = (code: Uint8Array) =>
  encodeRlp([encodeCount(1), encodeCount(0), fromHex(emptyTrie), keccak256(code)]);

type Answer = (blocks: readonly Block[], params: readonly unknown[], chainId: number) => unknown;

const hasHash = (hash: unknown) => (block: Block) => block.json.hash === hash;
const blockAt = (blocks: readonly Block[], at: unknown): Block | undefined => {
  if (typeof at === "object") return blocks.find(hasHash((at as { blockHash: Hex }).blockHash));
  return at === "latest" || at === undefined ? blocks.at(-1) : blocks[Number(at)];
};
const accountAt = (blocks: readonly Block[], address: unknown, at: unknown) => {
  const block = blockAt(blocks, at);
  if (!block) throw new RpcError(-32000, "header not found");
  return block.state.get(String(address).toLowerCase());
};

const answers: Readonly<Record<string, Answer>> = {
  eth_chainId: (_, __, chainId) => toQuantity(chainId),
  eth_blockNumber: (blocks) => toQuantity(blocks.length - 1),
  eth_getBlockByNumber: (blocks, [at]) => blockAt(blocks, at)?.json,
  eth_getBlockByHash: (blocks, [hash]) => blocks.find(hasHash(hash))?.json,
  eth_getBlockReceipts: (blocks, [at]) =>
    (String(at).length === 66 ? blocks.find(hasHash(at)) : blockAt(blocks, at))?.receipts,
  eth_getTransactionReceipt: (blocks, [hash]) =>
    blocks.flatMap(({ receipts }) => receipts).find((each) => each.transactionHash === hash),
  eth_getCode: (blocks, [address, at]) =>
    toHex(accountAt(blocks, address, at)?.code ?? new Uint8Array()),
  eth_getBalance: () => "0x0",
  eth_call(blocks, [call, at]) {
    const { data } = call as { data: Hex };
    return `0x${word(accountAt(blocks, `0x${data.slice(34, 74)}`, at)?.balance ?? 0n)}`;
  },
  eth_getProof(blocks, [address, , at]) {
    const entries = listEntries(blockAt(blocks, at)!.state);
    const { nodes } = buildProof(entries, keccak256(fromHex(address as Hex)), keccak256);
    return { accountProof: nodes.map((node) => toHex(node)) };
  },
  eth_getLogs(blocks, [filter]) {
    const { fromBlock, toBlock, topics } = filter as {
      fromBlock: string;
      toBlock: string;
      topics: (string | string[] | null)[];
    };
    const isWanted = (log: Json) =>
      topics.every((topic, index) => {
        const found = (log.topics as string[])[index];
        return topic === null || [topic].flat().includes(found as string);
      });
    return blocks
      .slice(Number(fromBlock), Number(toBlock) + 1)
      .flatMap(({ receipts }) => receipts.flatMap(({ logs }) => logs as Json[]))
      .filter(isWanted);
  },
};
