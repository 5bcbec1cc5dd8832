// Intents to records a second, beside viem doing the same: from an intent's fields to checked and
// checksummed fields, its terms and its address, both as hex. Medians. `npm run bench`.

import { fork } from "node:child_process";
import { once } from "node:events";
import {
  type AbiParameter,
  concatHex,
  encodeAbiParameters,
  getAddress,
  getContractAddress,
  parseAbiItem,
} from "viem";
import { factoryAddress, initCodePrefix, makeRecord } from "./index.ts";
import type { Hex, Intent } from "./intent.ts";
import { newWasmKeccak } from "./keccak-wasm.ts";

const rounds = 15;
const roundMicros = 120_000;

const tuple = {
  type: "tuple",
  components: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" },
    {
      name: "calls",
      type: "tuple[]",
      components: [
        { name: "target", type: "address" },
        { name: "signature", type: "string" },
        { name: "names", type: "string" },
        { name: "args", type: "bytes" },
      ],
    },
    { name: "expirationTimestamp", type: "uint64" },
    { name: "recovery", type: "address" },
    { name: "salt", type: "bytes32" },
    { name: "chainId", type: "uint256" },
  ],
} as const;

/** What a user of viem would write; the parameters are flat and of value types only. */
function viemRecord(intent: Intent): unknown {
  const calls = intent.calls.map((call) => {
    const item = parseAbiItem(`function ${call.function}` as "function f(uint256 a)");
    const inputs = item.inputs as readonly AbiParameter[];
    const values = inputs.map(({ type }, i) =>
      type === "address"
        ? getAddress(call.args[i] as Hex)
        : type === "bool"
          ? call.args[i] === "true"
          : BigInt(call.args[i]!),
    );
    return {
      target: getAddress(call.target),
      signature: `${item.name}(${inputs.map((input) => input.type).join(",")})`,
      names: inputs.map((input) => input.name).join(","),
      args: encodeAbiParameters(inputs, values),
    };
  });
  const token = getAddress(intent.token);
  const recovery = getAddress(intent.recovery);
  const terms = encodeAbiParameters(
    [tuple],
    [
      {
        token,
        recovery,
        calls,
        amount: BigInt(intent.amount),
        expirationTimestamp: BigInt(intent.expirationTimestamp),
        salt: intent.salt,
        chainId: BigInt(intent.chainId),
      },
    ],
  );
  const address = getContractAddress({
    opcode: "CREATE2",
    from: factoryAddress,
    salt: `0x${"0".repeat(64)}`,
    bytecode: concatHex([initCodePrefix, terms]),
  });
  return { address, factory: factoryAddress, intent: { ...intent, token, recovery }, terms };
}

const token = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const shop = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
const pool = [
  { target: token, function: "approve(address spender, uint256 amount)", args: [shop, "25000000"] },
  {
    target: shop,
    function: "pay(uint256 order, address buyer, uint256 amount)",
    args: ["8123476120", "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc", "25000000"],
  },
  { target: token, function: "transfer(address to, uint256 amount)", args: [shop, "1000000"] },
  {
    target: shop,
    function: "deposit(uint256 assets, address receiver)",
    args: ["123456789012345678901", shop],
  },
  { target: shop, function: "settle(uint256 order, bool done)", args: ["77", "true"] },
];

/**
 * Intents as they come: salt and recovery differ each time, tokens and functions recur. More than
 * the 8,192 checksums that viem remembers.
 */
function samples(calls: number): Intent[] {
  return Array.from({ length: 12_000 }, (_, i) => {
    const digits = (i * 2654435761).toString(16).padStart(12, "0");
    return {
      token,
      amount: String(25_000_000 + i),
      calls: pool.slice(0, calls) as Intent["calls"],
      expirationTimestamp: 1_790_000_000 + i,
      recovery: `0x3c44cdddb6a900fa2b585dd299e0${digits}`,
      salt: `0x${digits.padStart(64, "5")}`,
      chainId: 8453,
    };
  });
}

const contenders: Record<string, () => Promise<(intent: Intent) => unknown>> = {
  viem: async () => viemRecord,
  noble: async () => (intent) => makeRecord(intent),
  WASM: async () => {
    const keccak = newWasmKeccak();
    return (intent) => makeRecord(intent, { keccak });
  },
};

/** One contender in a process of its own, so that none lives with another's garbage and types. */
async function contend(name: string): Promise<void> {
  const run = await contenders[name]!();
  const intents = new Map([1, 2, 5].map((calls) => [calls, samples(calls)]));
  process.on("message", (calls: number) => process.send!(perSecond(run, intents.get(calls)!)));
}

/** By processor time, garbage collection included: what else the machine does does not count. */
function perSecond(run: (intent: Intent) => unknown, intents: Intent[]): number {
  const start = process.cpuUsage();
  let done = 0;
  let micros = 0;
  do {
    for (let i = 0; i < 200; i++) run(intents[done++ % intents.length]!);
    const { user, system } = process.cpuUsage(start);
    micros = user + system;
  } while (micros < roundMicros);
  return (done / micros) * 1e6;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;

/** Rounds by turns: whatever else the machine does then slows all alike. */
async function compare(): Promise<void> {
  const names = Object.keys(contenders);
  const children = names.map((name) => fork(import.meta.filename, [name]));
  for (const calls of [1, 2, 5]) {
    const figures: number[][] = names.map(() => []);
    for (let round = 0; round < rounds; round++)
      for (const [i, child] of children.entries()) {
        child.send(calls);
        figures[i]!.push((await once(child, "message"))[0]);
      }
    const rates = figures.map(median);
    const told = names.map((name, i) => {
      return `${name} ${(rates[i]! / 1000).toFixed(1)}k/s (${(rates[i]! / rates[0]!).toFixed(1)}x)`;
    });
    console.log(`records a second, ${calls} calls: ${told.join("  ")}`);
  }
  for (const child of children) child.disconnect();
}

const [name] = process.argv.slice(2);
await (name ? contend(name) : compare());
