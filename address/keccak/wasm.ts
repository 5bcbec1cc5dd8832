// keccak-256 in WebAssembly, some ten times as fast as JavaScript. The module is small and regular,
// so it is written out here instruction by instruction, not carried as bytes that nobody can read.
// Source: FIPS 202, with Ethereum's padding; https://webassembly.github.io/spec/core/binary/

import { abytes } from "@noble/hashes/utils.js";
import type { Keccak } from "./keccak.ts";

/** In memory: 24 round constants, the digest, and from there on the padded input. */
const places = { constants: 0, digest: 192, input: 256 } as const;
const blockBytes = 136;
const pageBytes = 65_536;

/**
 * A keccak to pass where one is a parameter. In a page, a strict Content-Security-Policy has to
 * allow `wasm-unsafe-eval` for it. Holds 64 kB, and as much more as its longest input needs.
 *
 * @throws {WebAssembly.CompileError} where WebAssembly is not allowed. The keccak it returns throws
 *   {TypeError} for anything but a Uint8Array.
 */
export function newWasmKeccak(): Keccak {
  const { Instance, Module } = (globalThis as unknown as { WebAssembly: Engine }).WebAssembly;
  const { memory, hash } = new Instance(new Module(moduleBytes())).exports;
  let bytes = new Uint8Array(memory.buffer);
  return (input) => {
    const { length } = abytes(input);
    const blocks = Math.floor(length / blockBytes) + 1;
    const end = places.input + blocks * blockBytes;
    if (end > bytes.length) {
      memory.grow(Math.ceil((end - bytes.length) / pageBytes));
      bytes = new Uint8Array(memory.buffer);
    }
    bytes.set(input, places.input);
    bytes.fill(0, places.input + length, end);
    bytes[places.input + length] = 0x01;
    bytes[end - 1]! |= 0x80;
    hash(blocks);
    return bytes.slice(places.digest, places.digest + 32);
  };
}

/** The part of WebAssembly that is used; not every set of types that reads this file has it. */
type Engine = {
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  Instance: new (module: object) => { exports: Exports };
};
type Exports = {
  memory: { readonly buffer: ArrayBuffer; grow(pages: number): void };
  hash(blocks: number): void;
};

const op = {
  loop: [0x03, 0x40],
  end: [0x0b],
  branchIf: (depth: number) => [0x0d, depth],
  get: (local: number) => [0x20, local],
  set: (local: number) => [0x21, local],
  load: (offset: number) => [0x29, 0x03, ...unsigned(offset)],
  store: (offset: number) => [0x37, 0x03, ...unsigned(offset)],
  constant32: (value: number) => [0x41, ...signed(value)],
  constant64: (value: number) => [0x42, ...signed(value)],
  add32: [0x6a],
  subtract32: [0x6b],
  and: [0x83],
  or: [0x84],
  xor: [0x85],
  not: [0x42, 0x7f, 0x85],
  rotateLeft: [0x89],
} as const;

/** Locals: the parameter, two more of 32 bits, then two states by turns, and what a round needs. */
const blocksLeft = 0;
const pointer = 1;
const round = 2;
type State = (x: number, y: number) => number;
const state: State = (x, y) => 3 + x + 5 * y;
const turned: State = (x, y) => 28 + x + 5 * y;
const column = (x: number): number => 53 + (x % 5);
const mix = (x: number): number => 58 + x;
const lane = (x: number): number => 63 + (x % 5);
const locals = [2, 2, 0x7f, 65, 0x7e];

const five = [0, 1, 2, 3, 4];

/**
 * Lanes that the state holds inverted, at x + 5y. With just these, chi needs 8 inversions a round
 * in place of 25. Source: "Keccak implementation overview" 3.2, 2.2, on lane complementing.
 */
const inverted = [1, 2, 8, 12, 17, 20];
const isInverted = (x: number, y: number): boolean => inverted.includes(x + 5 * y);

/** `hash(blocks)`: absorbs that many blocks of the input and stores the digest. */
function hashBody(): number[] {
  const word = (index: number) => state(index % 5, Math.floor(index / 5));
  const begin = inverted.map((i) => [...op.constant64(-1), ...op.set(word(i))]);
  const absorb = Array.from({ length: blockBytes / 8 }, (_, i) => [
    ...op.get(word(i)),
    ...op.get(pointer),
    ...op.load(places.input + 8 * i),
    ...op.xor,
    ...op.set(word(i)),
  ]);
  const squeeze = [0, 1, 2, 3].map((i) => [
    ...op.constant32(0),
    ...op.get(word(i)),
    ...(inverted.includes(i) ? op.not : []),
    ...op.store(places.digest + 8 * i),
  ]);
  return [
    ...begin.flat(),
    ...op.loop,
    ...absorb.flat(),
    ...op.constant32(0),
    ...op.set(round),
    ...op.loop,
    ...roundBody(state, turned, 0),
    ...roundBody(turned, state, 8),
    ...countTo(round, 16, 192),
    ...op.end,
    ...op.get(pointer),
    ...op.constant32(blockBytes),
    ...op.add32,
    ...op.set(pointer),
    ...op.get(blocksLeft),
    ...op.constant32(1),
    ...op.subtract32,
    ...op.set(blocksLeft),
    ...op.get(blocksLeft),
    ...op.branchIf(0),
    ...op.end,
    ...squeeze.flat(),
  ];
}

/** Adds `step` to `local` and begins the loop again until it is `limit`. */
function countTo(local: number, step: number, limit: number): number[] {
  const next = [...op.get(local), ...op.constant32(step), ...op.add32, ...op.set(local)];
  return [...next, ...op.get(local), ...op.constant32(limit), ...op.subtract32, ...op.branchIf(0)];
}

/** Theta, rho, pi, chi and iota from one state to the other, row by row of the latter. */
function roundBody(from: State, to: State, constant: number): number[] {
  const columns = five.map((x) => [
    ...op.get(from(x, 0)),
    ...five.slice(1).flatMap((y) => [...op.get(from(x, y)), ...op.xor]),
    ...op.set(column(x)),
  ]);
  const mixes = five.map((x) => [
    ...op.get(column(x + 4)),
    ...op.get(column(x + 1)),
    ...op.constant64(1),
    ...op.rotateLeft,
    ...op.xor,
    ...op.set(mix(x)),
  ]);
  const rows = five.map((y) => [...rhoPi(from, y), ...chi(to, y)]);
  const first = to(0, 0);
  const iota = [...op.get(round), ...op.load(places.constants + constant), ...op.xor];
  return [...columns, ...mixes, ...rows, [...op.get(first), ...iota, ...op.set(first)]].flat();
}

/** The lane that pi moves to (x, y): pi takes (x, y) to (y, 2x + 3y). */
const origin = (x: number, y: number): [number, number] => [(x + 3 * y) % 5, x];

/** The lanes that come to row `y`, mixed and turned. */
function rhoPi(from: State, y: number): number[] {
  return five.flatMap((x) => {
    const [fromX, fromY] = origin(x, y);
    return [
      ...op.get(from(fromX, fromY)),
      ...op.get(mix(fromX)),
      ...op.xor,
      ...op.constant64(rotations[fromX + 5 * fromY]!),
      ...op.rotateLeft,
      ...op.set(lane(x)),
    ];
  });
}

/**
 * Row `y` of the new state: a ^ (~b & c), which is also ~(a ^ (b | ~c)): whichever of the two needs
 * fewer inversions of what is held.
 */
function chi(to: State, y: number): number[] {
  return five.flatMap((x) => {
    const [a, b, c] = [x, (x + 1) % 5, (x + 2) % 5].map((at) => comesInverted(at, y));
    const wrong = isInverted(x, y) !== a;
    const byAnd = [wrong, !b, c];
    const byOr = [!wrong, b, !c];
    const isAnd = count(byAnd) <= count(byOr);
    const term = (i: number) => [
      ...op.get(lane(x + i)),
      ...((isAnd ? byAnd : byOr)[i] ? op.not : []),
    ];
    const joined = [...term(0), ...term(1), ...term(2), ...(isAnd ? op.and : op.or)];
    return [...joined, ...op.xor, ...op.set(to(x, y))];
  });
}

const count = (flags: (boolean | undefined)[]): number => flags.filter(Boolean).length;

/** Whether theta and pi leave the lane at (x, y) inverted: so it is held, or by what theta adds. */
function comesInverted(x: number, y: number): boolean {
  const [fromX, fromY] = origin(x, y);
  const columns = [fromX + 4, fromX + 1].flatMap((x) => five.map((y) => isInverted(x % 5, y)));
  return count([isInverted(fromX, fromY), ...columns]) % 2 === 1;
}

/** FIPS 202, 3.2.2: how far rho turns lane (x, y), at x + 5y. */
const rotations = (() => {
  const turns = new Array<number>(25).fill(0);
  for (let t = 0, x = 1, y = 0; t < 24; t++) {
    turns[x + 5 * y] = (((t + 1) * (t + 2)) / 2) % 64;
    [x, y] = [y, (2 * x + 3 * y) % 5];
  }
  return turns;
})();

/** FIPS 202, 3.2.5: the bits at 2^j − 1 come from a shift register. */
function roundConstants(): number[] {
  const bytes = new DataView(new ArrayBuffer(24 * 8));
  for (let i = 0, register = 1; i < 24; i++) {
    let constant = 0n;
    for (let j = 0; j < 7; j++) {
      if (register & 1) constant |= 1n << BigInt((1 << j) - 1);
      register = (register << 1) ^ ((register >> 7) * 0x171);
    }
    bytes.setBigUint64(8 * i, constant, true);
  }
  return [...new Uint8Array(bytes.buffer)];
}

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const name = (text: string) => vector([...new TextEncoder().encode(text)]);
  const body = [...locals, ...hashBody(), ...op.end];
  const data = [0, ...op.constant32(places.constants), ...op.end, ...vector(roundConstants())];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, 0x7f, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, ...name("memory"), 2, 0, ...name("hash"), 0, 0]),
    ...section(10, [1, ...vector(body)]),
    ...section(11, [1, ...data]),
  ]);
}

const section = (id: number, content: number[]): number[] => [id, ...vector(content)];

const vector = (content: number[]): number[] => [...unsigned(content.length), ...content];

/** LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >> 7)];
}

function signed(value: number): number[] {
  const isLast = value >= -64 && value < 64;
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
