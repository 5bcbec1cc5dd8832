// Runs before a launch spends any coin. Checks each endpoint's features, the chain's support for
// the contracts, and the wallet's balance. The balance must cover the remaining cost.

import {
  type AddressRecord,
  encodeExecution,
  gasMargin,
  type Hex,
  toHex,
} from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import type { Client } from "viem";
import { estimateMaxPriorityFeePerGas, getBalance, getBlock } from "viem/actions";
import { formatEther, formatGwei, serializeTransaction } from "viem/utils";
import { type EstimatedStep, estimateBring } from "../chain/bring.ts";
import type { Chain } from "../chain/chains.ts";
import { checkChain } from "../chain/check.ts";
import { compareEndpoints } from "../chain/compare.ts";
import { type ChainRpc, openChainRpc } from "../chain/rpc/chain-rpc.ts";
import { CallRefused, hexData } from "../chain/rpc/json-rpc.ts";
import { openSimulations } from "../chain/simulation/simulation.ts";
import { dataFeeCallFor } from "../executor/money/fees.ts";

export type EndpointReport = Awaited<ReturnType<typeof compareEndpoints>>[number] & {
  endpoint: string;
  faults: string[];
};

/** Checks the features of the chain's endpoints, and lists the faults that prevent a launch. */
export async function inspectEndpoints(chain: Chain): Promise<EndpointReport[]> {
  const compared = await compareEndpoints(chain, factoryAddress);
  return Promise.all(
    chain.rpcUrls.map(async (url, index) => {
      const report = compared[index]!;
      const verdict = await checkChain(chain, openChainRpc([url]), undefined);
      const faults: string[] = [];
      if (verdict.kind === "wrong") faults.push(...verdict.faults);
      else if (verdict.kind === "unknown") faults.push(`does not respond: ${verdict.reason}`);
      else {
        if (report.logBlocks === null)
          faults.push("returns no logs, which are needed to find payments");
        if (report.differsOn.length > 0) faults.push(`differs on ${report.differsOn.join(", ")}`);
      }
      // Only the host is shown, because the rest of the URL may contain an API key.
      return { ...report, endpoint: new URL(url).host, faults };
    }),
  );
}

/**
 * Checks that a launch with these endpoints can succeed.
 *
 * @throws an error with the first reason why the launch would fail
 */
export function requireEndpoints(reports: readonly EndpointReport[]): void {
  const hosts = new Set(reports.map(({ endpoint }) => endpoint));
  if (hosts.size < 2) {
    throw new Error(
      `the proof requires endpoints of two different providers, found ${hosts.size}: ` +
        "add another with --rpc",
    );
  }
  const faulty = reports.find(({ faults }) => faults.length > 0);
  if (faulty) throw new Error(`${faulty.endpoint}: ${faulty.faults.join("; ")}`);
  if (!reports.some(({ proves }) => proves)) {
    throw new Error(
      "no endpoint supports eth_getProof, which the proof requires: add one with --rpc",
    );
  }
}

/** Formats the reports as a table with one column for each endpoint. */
export function endpointTable(reports: readonly EndpointReport[]): string {
  const yesNo = (is: boolean) => (is ? "yes" : "no");
  const rows: [string, (report: EndpointReport) => string][] = [
    ["endpoint", ({ endpoint }) => endpoint],
    ["newest block", ({ headBlock }) => `${headBlock ?? "no response"}`],
    ["finalized block", ({ finalizedBlock }) => `${finalizedBlock ?? "not served"}`],
    ["blocks of logs per query", ({ logBlocks }) => `${logBlocks ?? "none"}`],
    ["blocks of old state", ({ archiveBlocks }) => `${archiveBlocks ?? "none"}`],
    ["eth_getProof", ({ proves }) => yesNo(proves)],
    ["simulation overrides", ({ overrides }) => yesNo(overrides)],
    ["response time", ({ answeredMs }) => (answeredMs === null ? "-" : `${answeredMs} ms`)],
  ];
  const cells = rows.map(([name, cell]) => [name, ...reports.map(cell)]);
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export type CostEstimate = {
  /** `wei` is the total cost of the step: gas, data fee, and value. */
  steps: { name: string; gas: string; wei: string }[];
  gasPriceWei: string;
  estimatedWei: string;
  /**
   * The balance that the wallet needs. Nodes require that the wallet can pay the whole gas limit at
   * the maximum price. The balance therefore exceeds the estimated cost.
   */
  neededWei: string;
  balanceWei: string;
};

type Estimated = {
  chain: Chain;
  rpc: ChainRpc;
  reader: Client;
  wallet: Hex;
  record: AddressRecord;
};

/**
 * The usual gas cost of an execution with one transfer, rounded up. Used if no node can simulate
 * the execution.
 */
const executionGasUsual = 110_000n;
/**
 * A placeholder for the signature. The data fee depends on the size of the transaction, which
 * includes the signature.
 */
const signature = { r: `0x${"ab".repeat(32)}`, s: `0x${"cd".repeat(32)}`, yParity: 0 } as const;

/**
 * The ratio of the fee that the wallet must be able to pay to the expected fee. The gas limit is up
 * to {@link gasMargin} times the estimate. viem's maximum fee is 1.2 times the base fee.
 */
const feeMargin = gasMargin * 1.2;

/**
 * Estimates the cost of the launch's remaining steps at the current gas price.
 *
 * @param isExecuted whether the address's calls were already executed
 * @throws if the chain is unavailable or unsuitable, or if its gas price exceeds `maxFeePerGas`
 */
export async function estimateLaunch(
  { chain, rpc, reader, wallet, record }: Estimated,
  isExecuted: boolean,
): Promise<CostEstimate> {
  const steps: EstimatedStep[] = await estimateBring(reader, rpc, wallet);
  if (!isExecuted) {
    const hasFactory = !steps.some(({ name }) => name === "factory");
    const gas = hasFactory ? await estimateExecution(chain, rpc, record) : undefined;
    const data = toHex(encodeExecution(record.intent));
    steps.push({ name: "execution", gas: gas ?? executionGasUsual, wei: 0n, data });
  }
  const { baseFeePerGas } = await getBlock(reader);
  const price = (baseFeePerGas ?? 0n) + (await estimateMaxPriorityFeePerGas(reader));
  const { maxFeePerGas } = chain;
  if (maxFeePerGas !== undefined && price > BigInt(maxFeePerGas)) {
    throw new Error(
      `gas costs ${formatGwei(price)} gwei now, which is above the chain's maxFeePerGas of ` +
        `${formatGwei(BigInt(maxFeePerGas))} gwei: try again later`,
    );
  }
  const costs = await Promise.all(
    steps.map(async ({ name, gas, wei, data }) => {
      const fees = gas * price + (await readDataFee(rpc, chain.chainId, data));
      return { name, gas, wei, fees };
    }),
  );
  const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n);
  const [fees, values] = [sum(costs.map((cost) => cost.fees)), sum(costs.map(({ wei }) => wei))];
  return {
    steps: costs.map((cost) => ({
      name: cost.name,
      gas: `${cost.gas}`,
      wei: `${cost.wei + cost.fees}`,
    })),
    gasPriceWei: `${price}`,
    estimatedWei: `${fees + values}`,
    neededWei: `${(fees * BigInt(Math.ceil(feeMargin * 1_000))) / 1_000n + values}`,
    balanceWei: `${await getBalance(reader, { address: wallet })}`,
  };
}

/**
 * Simulates the execution as if the payment had arrived, and returns its gas. Returns undefined if
 * no node can simulate it.
 */
async function estimateExecution(chain: Chain, rpc: ChainRpc, { address, intent }: AddressRecord) {
  const on = { chainId: chain.chainId, factory: factoryAddress, rpc, tokens: chain.tokens };
  const { gasUsed } = await openSimulations(on)({ address, intent });
  return gasUsed ? BigInt(gasUsed) : undefined;
}

/**
 * Returns the fee that an OP Stack chain charges for publishing `data`. Returns zero on other
 * chains.
 */
async function readDataFee(rpc: ChainRpc, chainId: number, data: Hex): Promise<bigint> {
  const fee = 1_000_000_000n;
  const unsigned = {
    ...({ chainId, type: "eip1559", nonce: 1, to: factoryAddress, data } as const),
    ...{ gas: 2_000_000n, maxFeePerGas: fee, maxPriorityFeePerGas: fee },
  };
  const { method, params } = dataFeeCallFor(serializeTransaction(unsigned, signature));
  const answered = await rpc.request(method, params).catch((error) => {
    if (error instanceof CallRefused) return "0x";
    throw error;
  });
  const answer = hexData(answered);
  return answer === "0x" ? 0n : BigInt(answer);
}

/** Formats the estimate for the operator. */
export function estimateLines(cost: CostEstimate): string {
  const ether = (wei: string) => `${formatEther(BigInt(wei))}`;
  const steps = cost.steps.map(
    ({ name, gas, wei }) => `${name.padEnd(14)} ${gas} gas, ${ether(wei)}`,
  );
  return [
    ...steps,
    `estimated cost ${ether(cost.estimatedWei)} at ${formatGwei(BigInt(cost.gasPriceWei))} gwei`,
    `wallet needs   ${ether(cost.neededWei)}, has ${ether(cost.balanceWei)}`,
  ].join("\n");
}

/**
 * Checks that the wallet has the required balance.
 *
 * @throws an error with the wallet and both balances, if the balance is too low
 */
export function requireBalance(wallet: Hex, { neededWei, balanceWei }: CostEstimate): void {
  if (BigInt(balanceWei) >= BigInt(neededWei)) return;
  const [has, needs] = [balanceWei, neededWei].map((wei) => formatEther(BigInt(wei)));
  throw new Error(
    `the wallet ${wallet} needs ${needs} of the native coin and has ${has}: send more to it`,
  );
}
