// Answers JSON-RPC calls from the chain model, like a correct node.

import type { Hex } from "executable-address";
import { transferTopic } from "executable-address/status";
import type { Answer, Call } from "../../../chain/rpc/json-rpc.ts";
import { probeData } from "../../../chain/status/probe.ts";
import { type Block, type ChainModel, nonceOf, priceOf } from "./chain-model.ts";
import {
  balanceOf,
  cloneState,
  execute,
  itemGas,
  parseCalldata,
  Revert,
  recover,
} from "./factory-model.ts";

const hex = (value: number | bigint): Hex => `0x${value.toString(16)}`;
const rangeBlocksMaxDefault = 40;
const finalizedLag = 6;

/** Returns the time that a node needs to simulate calls: 160 ms per million gas. */
export function simulationMs(chain: ChainModel, calls: readonly Call[]): number {
  return calls.reduce((sum, { method, params }) => {
    const { to, data, gas } = (params[0] ?? {}) as { to?: Hex; data?: Hex; gas?: Hex };
    if (method !== "eth_estimateGas" || to !== chain.setting.factory) return sum;
    const vault = chain.byTerms.get(parseCalldata(data ?? "0x").items[0]!.terms);
    return vault?.behaviour === "heavy" ? sum + Number(gas) / 6250 : sum;
  }, 0);
}

/** @param lag the number of newest blocks that the node does not have yet */
export function answer(chain: ChainModel, lag: number, call: Call): Answer {
  const blocks =
    lag === 0 ? chain.blocks : chain.blocks.slice(0, Math.max(1, chain.blocks.length - lag));
  try {
    return { result: resultOf(chain, blocks, call) };
  } catch (error) {
    if (error instanceof Revert) {
      // The reason imitates a provider's error, because a contract can choose any revert reason.
      const message = "execution reverted: 429 Too Many Requests, internal error, try again";
      return { error: { code: 3, message, data: error.data } };
    }
    return { error: { code: -32000, message: (error as Error).message } };
  }
}

function resultOf(chain: ChainModel, blocks: readonly Block[], call: Call): unknown {
  const [first, second, , fields] = call.params;
  switch (call.method) {
    case "eth_chainId":
      return hex(chain.setting.chainId);
    case "eth_getBlockByNumber": {
      const block = namedBlock(chain, blocks, first);
      return block ? showBlock(block, second === true) : null;
    }
    case "eth_getLogs":
      return logsOf(chain, blocks, first as Filter);
    case "eth_getBlockReceipts": {
      const range = { fromBlock: first as Hex, toBlock: first as Hex };
      return [{ logs: allLogsOf(blocks, range) }];
    }
    case "eth_getTransactionCount":
      return hex(nonceOf(blockAt(blocks, second).state, first as Hex));
    case "eth_getBalance":
      return hex(blockAt(blocks, second).state.coins.get(first as Hex) ?? 0n);
    case "eth_getCode": {
      const { code } = blockAt(blocks, second).state;
      return first === chain.setting.factory || code.has(first as Hex) ? "0x01" : "0x";
    }
    case "eth_feeHistory":
      return feeHistoryOf(blocks.at(-1)!);
    case "eth_call": {
      const { to, data } = first as { to?: Hex; data: Hex };
      const block = blockAt(blocks, second);
      if (to === dataFeeOracle) return boundOfDataFee(chain);
      return to ? balanceCall(block, to, data) : probe(block, data, chain.setting.chainId);
    }
    case "eth_estimateGas":
      return estimate(chain, blocks.at(-1)!, first as { to: Hex; data?: Hex }, fields as Fields);
    case "eth_simulateV1": {
      const { calls, blockOverrides } = (first as Simulated).blockStateCalls[0];
      return [{ calls: calls.map((each) => run(chain, blocks.at(-1)!, each, blockOverrides)) }];
    }
    case "eth_sendRawTransaction": {
      const refusal = chain.submit(first as Hex);
      if (refusal) throw new Error(refusal);
      return "0x";
    }
    case "eth_getTransactionReceipt":
      return parseReceipt(chain, blocks, first as Hex);
    case "debug_traceTransaction":
      if (chain.rules.isTraced) return traceOf(blocks, first as Hex);
  }
  throw new Error(`the method ${call.method} does not exist`);
}

/**
 * Finds a block by number or tag. The `finalized` block is `finalizedLag` blocks below the newest
 * block with enough confirmations.
 */
function namedBlock({ setting }: ChainModel, blocks: readonly Block[], name: unknown) {
  if (name === "latest") return blocks.at(-1);
  if (name === "finalized") {
    return blocks[Math.max(0, blocks.length - 1 - setting.confirmations - finalizedLag)];
  }
  return blocks[Number(name)];
}

/** Returns the priority fee, and the base fees of the newest and the next block. */
const feeHistoryOf = ({ number, baseFee }: Block) => ({
  oldestBlock: hex(number),
  baseFeePerGas: [hex(baseFee), hex(baseFee)],
  gasUsedRatio: [0.5],
  reward: [["0x2"]],
});

/** The fee oracle's address on all OP Stack chains. */
export const dataFeeOracle: Hex = "0x420000000000000000000000000000000000000f";

/**
 * Returns the upper bound on the data fee of a transaction with 100,000 bytes. The executor
 * requests no other size.
 */
const boundOfDataFee = ({ rules }: ChainModel): Hex =>
  rules.weiPerByte === 0n ? "0x" : `0x${word(100_000n * rules.weiPerByte)}`;

function blockAt(blocks: readonly Block[], where: unknown): Block {
  const found =
    where === "latest"
      ? blocks.at(-1)
      : typeof where === "string"
        ? blocks[Number(where)]
        : blocks.findLast((block) => block.hash === (where as { blockHash: Hex }).blockHash);
  if (!found) throw new Error("header not found");
  return found;
}

function showBlock(block: Block, isFull: boolean) {
  return {
    number: hex(block.number),
    hash: block.hash,
    parentHash: block.parentHash,
    timestamp: hex(block.timestamp),
    baseFeePerGas: hex(block.baseFee),
    gasLimit: hex(block.gasLimit),
    transactions: isFull
      ? block.mined.map(({ transaction }) => ({
          hash: transaction.hash,
          from: transaction.from,
          nonce: hex(transaction.nonce),
        }))
      : [],
  };
}

type Filter = { fromBlock: Hex; toBlock: Hex | "latest"; topics?: [Hex, null?, Hex[]?] };

/** @throws if the query has too many blocks, or if the result has too many logs */
function logsOf({ setting, rules }: ChainModel, blocks: readonly Block[], filter: Filter) {
  const { fromBlock, toBlock } = filter;
  const to = toBlock === "latest" ? blocks.length - 1 : Number(toBlock);
  const { rangeBlocksMax = rangeBlocksMaxDefault } = setting;
  if (to - Number(fromBlock) >= rangeBlocksMax) throw new Error("range too large");
  const logs = allLogsOf(blocks, filter);
  if (logs.length > rules.logsMax) throw new Error(`more than ${rules.logsMax} results`);
  return logs;
}

function allLogsOf(blocks: readonly Block[], { fromBlock, toBlock, topics }: Filter) {
  const recipients = topics?.[2];
  const from = Number(fromBlock);
  const to = toBlock === "latest" ? blocks.length - 1 : Number(toBlock);
  return blocks.slice(from, to + 1).flatMap((block) =>
    block.logs
      .filter((log) => log.topics[0] === transferTopic)
      .map((log, index) => ({
        ...log,
        blockNumber: hex(block.number),
        blockHash: block.hash,
        transactionHash: block.hash,
        logIndex: hex(index),
      }))
      .filter(({ topics }) => !recipients || recipients.includes(topics[2]!)),
  );
}

const word = (value: number | bigint) => value.toString(16).padStart(64, "0");

function balanceCall(block: Block, to: Hex, data: Hex): Hex {
  const owner: Hex = `0x${data.slice(-40)}`;
  return `0x${word(balanceOf(block.state, to, owner))}`;
}

/**
 * Returns the result of contracts/reading/Probe.sol. In this model, addresses have no native coin.
 */
function probe({ timestamp, state }: Block, data: Hex, chainId: number): Hex {
  const pairs = data.slice(probeData([]).length).match(/.{128}/g) ?? [];
  const holdings = pairs.map((pair) => {
    const [vault, token]: [Hex, Hex] = [`0x${pair.slice(24, 64)}`, `0x${pair.slice(88)}`];
    const codeBytes = state.code.has(vault) ? 1 : 0;
    return [codeBytes, 0, 1, balanceOf(state, token, vault)].map(word).join("");
  });
  const head = [chainId, timestamp, 96, pairs.length].map(word).join("");
  return `0x${head}${holdings.join("")}`;
}

type Fields = { time: Hex; baseFeePerGas: Hex } | undefined;

/** Runs a call on a copy of the newest state, and returns its gas. */
function estimate(
  chain: ChainModel,
  head: Block,
  { to, data, gasPrice = "0x0" }: { to: Hex; data?: Hex; gasPrice?: Hex },
  fields: Fields,
): Hex {
  const baseFee = BigInt(fields?.baseFeePerGas ?? head.baseFee);
  if (BigInt(gasPrice) > 0n && BigInt(gasPrice) < baseFee) {
    throw new Error("max fee per gas less than block base fee");
  }
  if (to !== chain.setting.factory) return hex(50_000);
  const { name, terms, tokens } = parseCalldata(data ?? "0x").items[0]!;
  const env = chain.envAt(Number(fields?.time ?? head.timestamp + 1), true);
  const state = cloneState(head.state);
  const vault = chain.byTerms.get(terms)!;
  if (name === "execute") execute(state, vault, env);
  else recover(state, vault, tokens, env);
  return hex(itemGas);
}

type Simulated = {
  blockStateCalls: [{ calls: { to: Hex; input: Hex }[]; blockOverrides: Fields }];
};

/** Answers eth_simulateV1 for one call. */
function run(chain: ChainModel, head: Block, call: { to: Hex; input: Hex }, fields: Fields) {
  try {
    const gasUsed = estimate(chain, head, { to: call.to, data: call.input }, fields);
    return { status: "0x1", gasUsed, returnData: "0x", logs: [] };
  } catch (error) {
    if (!(error instanceof Revert)) throw error;
    return { status: "0x0", gasUsed: hex(itemGas), returnData: error.data, logs: [] };
  }
}

function minedAs(blocks: readonly Block[], hash: Hex) {
  for (const block of blocks) {
    const mined = block.mined.find((entry) => entry.transaction.hash === hash);
    if (mined) return { block, mined };
  }
  return undefined;
}

function parseReceipt({ rules }: ChainModel, blocks: readonly Block[], hash: Hex) {
  const found = minedAs(blocks, hash);
  if (!found) return null;
  const { block, mined } = found;
  return {
    transactionHash: hash,
    blockHash: block.hash,
    blockNumber: hex(block.number),
    status: mined.succeeded ? "0x1" : "0x0",
    gasUsed: hex(mined.gasUsed),
    effectiveGasPrice: hex(priceOf(mined.transaction, block.baseFee)),
    logs: mined.logs,
    ...(rules.weiPerByte > 0n && { l1Fee: hex(mined.dataFee) }),
  };
}

/** Returns a transaction's trace like geth's `callTracer`, with the gas of each factory call. */
function traceOf(blocks: readonly Block[], hash: Hex) {
  const found = minedAs(blocks, hash);
  if (!found) throw new Error("transaction not found");
  const { gasUsed, callGas } = found.mined;
  const calls = callGas.map((gas) => ({ type: "CALL", gasUsed: hex(gas) }));
  return { type: "CALL", gasUsed: hex(gasUsed), calls };
}

/** Makes a receipt wrong: hides it, or changes its status or its block. */
export function falsified(answer: Answer, random: () => number): Answer {
  if (!("result" in answer) || answer.result === null) return answer;
  const receipt = answer.result as { status: Hex; logs: unknown[] };
  if (random() < 0.4) return { result: null };
  if (random() < 0.5) return { result: { ...receipt, status: "0x0", logs: [] } };
  return { result: { ...receipt, blockHash: `0x${"ab".repeat(32)}` } };
}
