// Defines the intents whose gas is measured, and executes each intent.

import {
  type Address,
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  parseAbi,
  slice,
  toHex,
} from "viem";
import { deployFactory } from "../deploy.ts";
import { demoShop, demoToken, deterministicDeployer, factoryAddress } from "../index.ts";
import { initializeFiatToken, placeFiatToken } from "../testing/fiat-token/place.ts";
import {
  addressOf,
  type CallTerms,
  type Chain,
  type IntentTerms,
  openChain,
  toFactory,
} from "../testing/local-chain.ts";
import { measureAssembly } from "./assembly.ts";
import { limitCalldata } from "./limit.ts";
import { splitGas } from "./split-gas.ts";
import { stateGas } from "./state-gas.ts";

type Figures = Record<string, Record<string, number>>;
/** Gas under Prague's rules, and the computed gas under EIP-8037. */
type Cost = { prague: number; eip8037: number };

const erc20 = parseAbi([
  "function mint(address to, uint256 amount)",
  "function transfer(address to, uint256 amount)",
  "function approve(address spender, uint256 amount)",
]);
const recovery = "0x00000000000000000000000000000000000c0ffe";
const unit = 1_000_000n;
let salt = 0n;

/**
 * USDC's address on Base Sepolia. The measured gas depends on how many zero bytes this address has.
 */
const usdc = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

/**
 * Measures the gas of each scenario with each token. `parts` shows how an execution with a single
 * USDC transfer uses its gas.
 */
export const measure = (): Promise<{ figures: Figures; parts: Record<string, number> }> =>
  onChain(async (chain) => {
    const plain = await chain.deploy(demoToken.abi, demoToken.bytecode, ["Demo", "DEMO", 6]);
    const tokens = { plain, USDC: usdc } as const;
    const figures: Figures = {};
    for (const [name, token] of Object.entries(tokens)) {
      const shop = await chain.deploy(demoShop.abi, demoShop.bytecode, [token]);
      const column = await measureToken(chain, token, shop);
      for (const [row, { prague, eip8037 }] of Object.entries(column)) {
        figures[row] = { ...figures[row], [name]: prague, [`${name}, EIP-8037`]: eip8037 };
      }
    }
    return { figures, parts: await measureParts(chain, tokens.USDC) };
  });

/** Measures the gas that assembly saves in an execution that sends USDC with one call. */
export const compareAssembly = (): Promise<Figures> =>
  onChain(async (chain) => {
    await mint(chain, usdc, recovery, unit);
    return measureAssembly(chain, await funded(chain, usdc, [transfer(usdc, recovery, unit)]));
  });

/** Runs `run` on a local chain with the factory and USDC, and then stops the chain. */
async function onChain<Result>(run: (chain: Chain) => Promise<Result>): Promise<Result> {
  const chain = await openChain(["--hardfork", "prague", "--steps-tracing"]);
  try {
    await deployFactory(chain.client);
    await placeFiatToken(chain.client, usdc);
    await initializeFiatToken(chain.client, usdc);
    return await run(chain);
  } finally {
    await chain.anvil.stop();
  }
}

async function measureParts(chain: Chain, token: Address) {
  const intent = await funded(chain, token, [transfer(token, recovery, unit)]);
  const receipt = await chain.send(factoryAddress, toFactory("execute", [intent]));
  return splitGas(chain, receipt.transactionHash);
}

async function measureToken(chain: Chain, token: Address, shop: Address) {
  const shops = Array.from({ length: 5 }, (_, i) => `0x${`${i + 1}5`.repeat(20)}` as Address);
  for (const holder of [...shops, shop, recovery] as Address[])
    await mint(chain, token, holder, unit);
  const one = [transfer(token, shops[0]!, unit)];
  const payShop = [
    call(token, "approve(address,uint256)", "spender,amount", ["address", "uint256"], [shop, unit]),
    call(shop, "pay(uint256,uint256)", "orderId,amount", ["uint256", "uint256"], [7n, unit]),
  ];
  const five = shops.map((to) => transfer(token, to, unit / 5n));
  const gas: Record<string, Cost> = {};
  for (const [name, calls] of Object.entries({
    "one call": one,
    "approve+pay": payShop,
    "five calls": five,
  })) {
    gas[name] = await execution(chain, token, calls);
    gas[`${name}, limit`] = await limit(chain, token, calls);
  }
  for (const count of [1, 5, 20]) {
    gas[`batch of ${count}, each`] = await batch(chain, token, one, count);
  }
  gas["late sweep"] = await lateSweep(chain, token, one);
  gas["refund, expired"] = await refund(chain, token, one);
  return gas;
}

const call = (
  target: Address,
  signature: string,
  names: string,
  types: string[],
  values: unknown[],
): CallTerms => ({
  target,
  signature,
  names,
  args: encodeAbiParameters(
    types.map((type) => ({ type })),
    values,
  ),
});

const transfer = (token: Address, to: Address, amount: bigint) =>
  call(token, "transfer(address,uint256)", "to,amount", ["address", "uint256"], [to, amount]);

async function mint(chain: Chain, token: Address, to: Address, amount: bigint) {
  const data = encodeFunctionData({ abi: erc20, functionName: "mint", args: [to, amount] });
  await chain.send(token, data);
}

/**
 * Expiration times in Unix seconds. The times are fixed, because each zero byte in a time saves 12
 * gas.
 */
const expiry = { open: 0xffff_ffffn, expired: 0x1111_1111n };

/** Creates a new intent and pays its vault. */
async function funded(chain: Chain, token: Address, calls: CallTerms[], expired = false) {
  const intent: IntentTerms = {
    token,
    amount: unit,
    calls,
    expirationTimestamp: expired ? expiry.expired : expiry.open,
    recovery,
    salt: concat([slice(keccak256(toHex(++salt)), 0, 16), `0x${"00".repeat(16)}`]),
    chainId: 31337n,
  };
  await mint(chain, token, await addressOf(chain, intent), unit);
  return intent;
}

async function cost(chain: Chain, to: Address, data: Hex): Promise<Cost> {
  const { gasUsed, transactionHash } = await chain.send(to, data);
  const prague = Number(gasUsed);
  return { prague, eip8037: prague + (await stateGas(chain, transactionHash)) };
}

const run = (chain: Chain, functionName: string, args: unknown[]) =>
  cost(chain, factoryAddress, toFactory(functionName, args));

async function execution(chain: Chain, token: Address, calls: CallTerms[]) {
  return run(chain, "execute", [await funded(chain, token, calls)]);
}

async function limit(chain: Chain, token: Address, calls: CallTerms[]) {
  const calldata = limitCalldata(
    calls.map(({ target, signature, args }) => ({
      target,
      data: `${keccak256(toHex(signature)).slice(0, 10)}${args.slice(2)}` as Hex,
    })),
  );
  const answer = await chain.client.call({ to: deterministicDeployer.address, data: calldata });
  await mint(chain, token, slice(answer.data!, 0, 20), unit);
  return cost(chain, deterministicDeployer.address, calldata);
}

async function batch(chain: Chain, token: Address, calls: CallTerms[], count: number) {
  const intents: IntentTerms[] = [];
  for (let i = 0; i < count; i++) intents.push(await funded(chain, token, calls));
  const items = intents.map((intent) => toFactory("execute", [intent]));
  const { prague, eip8037 } = await run(chain, "batch", [items]);
  return { prague: Math.round(prague / count), eip8037: Math.round(eip8037 / count) };
}

async function lateSweep(chain: Chain, token: Address, calls: CallTerms[]) {
  const intent = await funded(chain, token, calls);
  await run(chain, "execute", [intent]);
  await mint(chain, token, await addressOf(chain, intent), unit);
  return run(chain, "recover", [intent, [token]]);
}

async function refund(chain: Chain, token: Address, calls: CallTerms[]) {
  return run(chain, "recover", [await funded(chain, token, calls, true), [token]]);
}
