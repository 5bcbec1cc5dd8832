// Measures how many records per second can be derived from intents, with the library and with a
// program that uses viem. Each derivation starts from the result of JSON.parse. The derivation
// validates all fields and computes the checksums of addresses. It produces the terms and the
// address as hex. The output also shows the rate of a program that computes only the hashes. This
// rate is the limit for every library with the same keccak. The program "noble's keccak" is this
// library, but with the sponge of @noble/hashes. Three files of the library reuse buffers. For each
// of these files, one program is the library with new buffers for each call (new-buffers.ts).
//
// A second benchmark decodes terms to intents, as a lookup does. There are two sets of terms. The
// terms of the first set share addresses and functions. The caches help only with this set. A third
// benchmark converts terms from hex to bytes and back.
//
// Results are medians. `npm run bench` builds the package first, because users run the built
// package, and not the TypeScript sources.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { createKeccak } from "hash-wasm";
import {
  type AbiParameter,
  concatHex,
  encodeAbiParameters,
  getAddress,
  getContractAddress,
  parseAbiItem,
} from "viem";
import { formatAbiItem } from "viem/utils";
import type { Hex, Intent } from "../intent/intent.ts";
import type { Keccak } from "../keccak/keccak.ts";
import { filesWithReuse, loadWithNewBuffers } from "./new-buffers.ts";

const [name] = process.argv.slice(2);
const rowOf = (file: string) => `new buffers in ${file}`;
const changedFile = filesWithReuse.find((file) => name === rowOf(file));
if (changedFile) loadWithNewBuffers(changedFile);
const dist = (name: string) => import(new URL(`../dist/${name}.js`, import.meta.url).href);
const { decodeTerms, factoryAddress, initCodePrefix, makeRecord }: typeof import("../index.ts") =
  await dist("index");
const { keccak256 }: typeof import("../keccak/keccak.ts") = await dist("keccak/keccak");
const { fromHex, toHex }: typeof import("../abi/hex.ts") = await dist("abi/hex");
const hasher = await createKeccak(256);
const wasmKeccak: Keccak = (bytes) => hasher.init().update(bytes).digest("binary");

const generations = 9;
const rounds = Number(process.env.BENCH_ROUNDS ?? 4);
const roundMicros = 1_000 * Number(process.env.BENCH_MS ?? 100);
const batch = 200;

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

/**
 * Derives a record with viem, as a program without this library would. Supports only parameters of
 * simple types, such as `uint256`. With viem, some values have several spellings, so two intents
 * could result in the same record. This function therefore throws if a spelling is not canonical.
 * Addresses with a wrong checksum are refused by viem.
 */
function viemRecord(intent: Intent): unknown {
  const read = intent.calls.map((call) => {
    const item = parseAbiItem(`function ${call.function}` as "function f(uint256 a)");
    compareSpelling(formatAbiItem(item, { includeName: true }), call.function);
    const inputs = item.inputs as readonly AbiParameter[];
    const values = inputs.map(({ type }, i) => {
      const text = call.args[i]!;
      if (type === "address") return text;
      const value = type === "bool" ? text === "true" : BigInt(text);
      compareSpelling(String(value), text);
      return value;
    });
    const args = inputs.map(({ type }, i) =>
      type === "address" ? getAddress(call.args[i] as Hex) : call.args[i]!,
    );
    return {
      call: { target: getAddress(call.target), function: call.function, args },
      encoded: {
        target: call.target,
        signature: `${item.name}(${inputs.map((input) => input.type).join(",")})`,
        names: inputs.map((input) => input.name).join(","),
        args: encodeAbiParameters(inputs, values),
      },
    };
  });
  const terms = encodeAbiParameters(
    [tuple],
    [
      {
        ...intent,
        calls: read.map(({ encoded }) => encoded),
        amount: BigInt(intent.amount),
        expirationTimestamp: BigInt(intent.expirationTimestamp),
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
  const token = getAddress(intent.token);
  const recovery = getAddress(intent.recovery);
  const calls = read.map(({ call }) => call);
  return { address, factory: factoryAddress, intent: { ...intent, token, recovery, calls }, terms };
}

function compareSpelling(wanted: string, found: string): void {
  if (found !== wanted) throw new Error(`expected ${wanted}, found ${found}`);
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

let made = 0;

/**
 * Creates intents by parsing JSON, as a server does. Each intent has a new salt and a new recovery
 * address. The checksum of a recovery address is therefore never cached. Tokens and functions occur
 * in many intents.
 */
function samples(calls: number): Intent[] {
  return Array.from({ length: batch }, () => {
    const digits = (++made * 2654435761).toString(16).padStart(14, "0");
    const intent = {
      token,
      amount: String(25_000_000 + made),
      calls: pool.slice(0, calls),
      expirationTimestamp: 1_790_000_000 + made,
      recovery: `0x3c44cdddb6a900fa2b585dd299${digits}`,
      salt: `0x${digits.padStart(64, "5")}`,
      chainId: 8453,
    };
    return JSON.parse(JSON.stringify(intent));
  });
}

/**
 * Creates intents like {@link samples}, but the intents share no addresses or functions. All of the
 * created intents have the same size.
 */
function strangers(calls: number): Intent[] {
  return samples(calls).map((intent) => {
    const own = intent.salt.slice(-10);
    const ownAddress = (address: string): Hex => `${address.slice(0, 32)}${own}` as Hex;
    return {
      ...intent,
      token: ownAddress(intent.token),
      calls: intent.calls.map((call) => ({
        target: ownAddress(call.target),
        function: call.function.replace(/^(\w+)\((\w+) /, `$1${own}($2 `),
        args: call.args.map((arg) => (arg.startsWith("0x") ? ownAddress(arg) : arg)),
      })),
    };
  });
}

type Run = (intent: Intent) => unknown;
/** Returns the functions that the benchmark runs for one program. */
type Contender = (calls: number) => (() => unknown)[];

const ofSamples =
  (run: Run): Contender =>
  (calls) =>
    samples(calls).map((intent) => () => run(intent));

const decoding =
  (make: typeof samples): Contender =>
  (calls) =>
    make(calls).map((intent) => {
      const { terms } = makeRecord(intent);
      return () => decodeTerms(terms, { keccak: wasmKeccak });
    });

/** Converts the terms of a sample from hex to bytes and back. */
const converting =
  (fromText: (text: Hex) => Uint8Array, toText: (bytes: Uint8Array) => string): Contender =>
  (calls) =>
    samples(calls).map((intent) => {
      const { terms } = makeRecord(intent);
      return () => toText(fromText(terms));
    });

const plainFromHex = (text: Hex) =>
  Uint8Array.from({ length: text.length / 2 - 1 }, (_, at) =>
    Number.parseInt(text.slice(2 * at + 2, 2 * at + 4), 16),
  );
const plainToHex = (bytes: Uint8Array) =>
  `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;

/**
 * Returns a function that computes the same hashes as `makeRecord`, and does nothing else. The
 * inputs of the hashes are recorded before the measurement, from calls to `makeRecord`.
 */
function hashesAlone(keccak: Keccak): Run {
  const inputs = new Map<number, Uint8Array[]>();
  for (const calls of [1, 2, 5]) {
    let taken: Uint8Array[] = [];
    const noting: Keccak = (bytes) => {
      taken.push(bytes.slice());
      return keccak(bytes);
    };
    for (const intent of samples(calls)) {
      taken = [];
      makeRecord(intent, { keccak: noting });
    }
    inputs.set(calls, taken);
  }
  return (intent) => {
    for (const bytes of inputs.get(intent.calls.length)!) keccak(bytes);
  };
}

const withWasm = () => ofSamples((intent) => makeRecord(intent, { keccak: wasmKeccak }));

const contenders: Record<string, () => Contender> = {
  viem: () => ofSamples(viemRecord),
  default: () => ofSamples((intent) => makeRecord(intent)),
  "noble's keccak": () => ofSamples((intent) => makeRecord(intent, { keccak: keccak_256 })),
  WASM: withWasm,
  "default's hashes": () => ofSamples(hashesAlone(keccak256)),
  "WASM's hashes": () => ofSamples(hashesAlone(wasmKeccak)),
  decoding: () => decoding(samples),
  "decoding strangers'": () => decoding(strangers),
  hex: () => converting(fromHex, toHex),
  "plain hex": () => converting(plainFromHex, plainToHex),
  ...Object.fromEntries(filesWithReuse.map((file) => [rowOf(file), withWasm])),
};

/**
 * Measures one program in this process. Each program has its own process, so that the garbage and
 * optimized code of other programs do not affect it.
 */
function contend(name: string): void {
  const contender = contenders[name]!();
  process.on("message", (calls: number) => process.send!(perSecond(contender, calls)));
}

/**
 * Measures processor time, including garbage collection. Other load on the machine does not affect
 * this time.
 */
function perSecond(contender: Contender, calls: number): number {
  let done = 0;
  let micros = 0;
  do {
    const pieces = contender(calls);
    const start = process.cpuUsage();
    for (const piece of pieces) piece();
    const { user, system } = process.cpuUsage(start);
    micros += user + system;
    done += batch;
  } while (micros < roundMicros);
  return (done / micros) * 1e6;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;

/**
 * Alternates between the programs, so that other load on the machine affects all programs equally.
 * Runs each program in several processes, because V8's inlining differs between processes. A
 * program's time therefore differs by 10% between processes.
 */
async function compare(): Promise<void> {
  for (const intent of samples(5)) assert.deepEqual(viemRecord(intent), makeRecord(intent));
  const names = Object.keys(contenders);
  const counts = [1, 2, 5];
  const figures = new Map(counts.map((calls) => [calls, names.map((): number[] => [])]));
  for (let generation = 0; generation < generations; generation++) {
    const children = names.map((name) => fork(import.meta.filename, [name]));
    for (const warm of [false, true])
      for (const calls of counts)
        for (let round = 0; round < rounds; round++)
          for (const [i, child] of children.entries()) {
            child.send(calls);
            const [figure] = await once(child, "message");
            if (warm) figures.get(calls)![i]!.push(figure);
          }
    for (const child of children) child.disconnect();
  }
  for (const calls of counts) {
    const rate = (name: string): number => median(figures.get(calls)![names.indexOf(name)]!);
    console.log(`records a second, ${calls} calls: viem ${thousands(rate("viem"))}`);
    const noble = rate("noble's keccak");
    console.log(`  noble's keccak ${thousands(noble)}, ${(noble / rate("viem")).toFixed(2)}x`);
    for (const name of ["default", "WASM"]) {
      const [own, ceiling] = [rate(name), rate(`${name}'s hashes`)];
      const share = `its hashes alone ${thousands(ceiling)}, ${percent(own / ceiling)} of the time`;
      console.log(`  ${name} ${thousands(own)}, ${(own / rate("viem")).toFixed(2)}x; ${share}`);
    }
    console.log(`  WASM / default ${(rate("WASM") / rate("default")).toFixed(1)}x`);
    for (const file of filesWithReuse) {
      const fresh = rate(rowOf(file));
      const more = `${percent(rate("WASM") / fresh - 1)} more time`;
      console.log(`  WASM, ${rowOf(file)} ${thousands(fresh)}, ${more}`);
    }
    const [known, strange] = [rate("decoding"), rate("decoding strangers'")];
    const times = `${(known / strange).toFixed(2)}x of those where nothing recurs`;
    console.log(`  terms decoded, WASM ${thousands(known)}, ${times}`);
    const [converted, plain] = [rate("hex"), rate("plain hex")];
    console.log(`  hex ${thousands(converted)}, ${(converted / plain).toFixed(1)}x of plain code`);
  }
}

const thousands = (perSecond: number): string => `${(perSecond / 1000).toFixed(1)}k/s`;
const percent = (share: number): string => `${Math.round(100 * share)} %`;

if (name) contend(name);
else await compare();
