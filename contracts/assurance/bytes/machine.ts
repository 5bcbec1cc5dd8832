// Executes a vault's code symbolically, for all inputs. Implements only the part of the EVM that
// the vault's code needs. A JUMPI whose condition is a formula splits the execution into two paths.
// Memory is a function from an index to a byte, so a copy of unknown length needs no quantifier.
//
// An unsupported opcode (storage, logs, creation, SELFDESTRUCT, other calls and arithmetic) ends
// its path as "foreign". The model counts only the gas for memory. Gas for opcodes can be ignored,
// because a path that runs out of gas has no effect.

import {
  add,
  all,
  and,
  any,
  type Bool,
  type Byte,
  choose,
  chooseByte,
  complement,
  flag,
  less,
  lessSigned,
  not,
  or,
  same,
  sub,
  type Word,
  xor,
} from "./terms.ts";

/**
 * The inputs of an execution, such as the caller, the calldata, and the gas. Each input is either
 * known or a formula. A formula represents all possible values of its input.
 */
type World = {
  caller: Word;
  /** The address of the account that runs the code. */
  self: Word;
  value: Word;
  gas: Word;
  callDataBytes: Word;
  callData: Memory;
  /** The length of the whole code in bytes, including bytes after the executed code. */
  codeBytes: Word;
  code: Memory;
  /** The result of a DELEGATECALL. */
  succeeds: Bool;
  answerBytes: Word;
  answer: Memory;
  /**
   * Returns a condition that is false if no transaction has enough gas for `bytes` bytes of memory.
   */
  affordable(bytes: Word): Bool;
};

/**
 * The inputs of an execution, and an index into memory. A law about two ranges of memory compares
 * only the bytes at this index. In a proof, the index can have any value, so the comparison covers
 * every byte.
 */
export type Case = World & { index: Word };

export type Memory = (index: Word) => Byte;

/** A DELEGATECALL on the path, and the memory that contains its input. */
type Question = { gas: Word; target: Word; at: Word; bytes: Word; memory: Memory };

type Machine = {
  next: number;
  steps: number;
  stack: Word[];
  memory: Memory;
  /** RETURNDATASIZE. */
  answered: Word;
  questions: Question[];
  /** The condition on the inputs under which the execution reaches this point. */
  given: Bool;
  /** The condition under which the current opcode halts. */
  halts: Bool;
};

type End = "stop" | "return" | "revert" | "halt" | "foreign" | "endless";

/**
 * One path through the code. `at` and `bytes` are the position and the size of the data of "return"
 * and "revert".
 */
export type Path = Machine & { end: End; at: Word; bytes: Word };

/** PREFIX and the permanent code have about 25 instructions. A longer run is an endless loop. */
const stepsMax = 100;
const pathsMax = 50;

const [STOP, JUMP, JUMPI, JUMPDEST, PUSH0] = [0x00, 0x56, 0x57, 0x5b, 0x5f];
const [DELEGATECALL, RETURN, REVERT, INVALID] = [0xf4, 0xf3, 0xfd, 0xfe];
/** `Machine.next` has this value if the path halts, for example after an invalid jump. */
const nowhere = -1;

/**
 * Returns every path through `opcodes`, with conditions that exclude each other and cover all
 * inputs.
 *
 * @param opcodes the code to run. If `world.codeBytes` is larger than the length of `opcodes`,
 *   unknown bytes follow `opcodes`. A path that reaches an unknown byte ends as "foreign"
 */
export function run(opcodes: Uint8Array, world: World): Path[] {
  const ended: Path[] = [];
  const open: Machine[] = [
    {
      next: 0,
      steps: 0,
      stack: [],
      memory: () => 0n,
      answered: 0n,
      questions: [],
      given: true,
      halts: false,
    },
  ];
  for (let machine = open.pop(); machine; machine = open.pop()) {
    if (machine.given === false) continue;
    try {
      for (const next of follow(machine, opcodes, world)) {
        if ("end" in next) ended.push(next);
        else open.push(next);
      }
    } catch (error) {
      if (!(error instanceof Halt)) throw error;
      ended.push(ending(machine, "halt"));
    }
    if (ended.length + open.length > pathsMax) machine.steps = stepsMax;
  }
  return ended;
}

/** An exceptional halt, which uses up all gas and returns nothing. */
class Halt extends Error {}

const ending = (machine: Machine, end: End, at: Word = 0n, bytes: Word = 0n): Path => ({
  ...machine,
  end,
  at,
  bytes,
});

/** Runs until the path ends or splits. */
function follow(machine: Machine, opcodes: Uint8Array, world: World): (Path | Machine)[] {
  const pop = () => machine.stack.pop() ?? underflow();
  const where = (condition: Bool, next = machine.next): Machine => ({
    ...machine,
    stack: [...machine.stack],
    questions: [...machine.questions],
    given: all(machine.given, condition),
    halts: false,
    next,
  });
  while (machine.steps++ < stepsMax) {
    const opcode = fetch(machine, opcodes, world);
    if (opcode === undefined) return [ending(machine, "foreign")];
    if (opcode === STOP) return [ending(machine, "stop")];
    if (opcode === INVALID) return [ending(machine, "halt")];
    if (opcode === RETURN || opcode === REVERT) {
      const [at, bytes] = [pop(), pop()];
      touch(machine, at, bytes, world);
      const end = opcode === RETURN ? "return" : "revert";
      const { halts } = machine;
      return [ending(where(not(halts)), end, at, bytes), where(halts, nowhere)];
    }
    if (opcode === JUMP || opcode === JUMPI) {
      const target = pop();
      const stays = opcode === JUMP ? false : same(pop(), 0n);
      if (typeof target !== "bigint") return [ending(machine, "foreign")];
      const next = jumpTargets(opcodes).has(target) ? Number(target) : nowhere;
      return [where(stays), where(not(stays), next)];
    }
    if (!step(opcode, machine, pop, opcodes, world)) return [ending(machine, "foreign")];
    const { halts } = machine;
    if (halts !== false) return [where(not(halts)), where(halts, nowhere)];
  }
  return [ending(machine, "endless")];
}

function underflow(): never {
  throw new Halt();
}

/**
 * Returns the next opcode. After the last opcode, returns STOP if the code ends there, or undefined
 * if unknown bytes follow. Returns INVALID on a path that has halted.
 */
function fetch(machine: Machine, opcodes: Uint8Array, world: World): number | undefined {
  if (machine.next === nowhere) return INVALID;
  if (machine.next < opcodes.length) return opcodes[machine.next++]!;
  return world.codeBytes === BigInt(opcodes.length) ? STOP : undefined;
}

function jumpTargets(opcodes: Uint8Array): Set<bigint> {
  const targets = new Set<bigint>();
  for (let at = 0; at < opcodes.length; ++at) {
    const opcode = opcodes[at]!;
    if (opcode === JUMPDEST) targets.add(BigInt(at));
    if (opcode > PUSH0 && opcode <= PUSH0 + 32) at += opcode - PUSH0;
  }
  return targets;
}

/**
 * Runs an opcode that neither ends nor splits the path. Returns false if the opcode is not
 * supported.
 */
function step(
  opcode: number,
  machine: Machine,
  pop: () => Word,
  opcodes: Uint8Array,
  world: World,
): boolean {
  const { stack } = machine;
  const seen = look(opcode, machine, world);
  const operation = binary[opcode];
  if (seen !== undefined) stack.push(seen);
  else if (operation) stack.push(operation(pop(), pop()));
  else if (opcode === 0x15) stack.push(flag(same(pop(), 0n)));
  else if (opcode === 0x19) stack.push(complement(pop()));
  else if (opcode === 0x37) copy(machine, pop, world.callData, world);
  else if (opcode === 0x39) copy(machine, pop, world.code, world);
  else if (opcode === 0x3e) copy(machine, pop, world.answer, world, machine.answered);
  else if (opcode === 0x50) pop();
  else if (opcode > PUSH0 && opcode <= PUSH0 + 32) push(machine, opcode - PUSH0, opcodes);
  else if (opcode >= 0x80 && opcode <= 0x8f) stack.push(stack.at(0x7f - opcode) ?? underflow());
  else if (opcode >= 0x90 && opcode <= 0x9f) swap(stack, opcode - 0x8f);
  else if (opcode === DELEGATECALL) ask(machine, pop, world);
  else return opcode === JUMPDEST;
  return true;
}

const binary: Record<number, (a: Word, b: Word) => Word> = {
  1: add,
  3: sub,
  16: (a, b) => flag(less(a, b)),
  17: (a, b) => flag(less(b, a)),
  18: (a, b) => flag(lessSigned(a, b)),
  19: (a, b) => flag(lessSigned(b, a)),
  20: (a, b) => flag(same(a, b)),
  22: and,
  23: or,
  24: xor,
};

/** The word that an opcode without operands pushes onto the stack. */
function look(opcode: number, machine: Machine, world: World): Word | undefined {
  if (opcode === 0x30) return world.self;
  if (opcode === 0x33) return world.caller;
  if (opcode === 0x34) return world.value;
  if (opcode === 0x36) return world.callDataBytes;
  if (opcode === 0x38) return world.codeBytes;
  if (opcode === 0x3d) return machine.answered;
  if (opcode === 0x58) return BigInt(machine.next - 1);
  if (opcode === 0x5a) return world.gas;
  return opcode === PUSH0 ? 0n : undefined;
}

function push(machine: Machine, bytes: number, opcodes: Uint8Array): void {
  let word = 0n;
  for (let i = 0; i < bytes; ++i) word = (word << 8n) | BigInt(opcodes[machine.next++] ?? 0);
  machine.stack.push(word);
}

function swap(stack: Word[], depth: number): void {
  const [top, other] = [stack.length - 1, stack.length - 1 - depth];
  if (other < 0) underflow();
  [stack[top], stack[other]] = [stack[other]!, stack[top]!];
}

/**
 * Halts the execution if a memory range is too large for any gas limit. The range starts at `at`
 * and has `bytes` bytes.
 */
function touch(machine: Machine, at: Word, bytes: Word, world: World): void {
  const affordable = all(world.affordable(at), world.affordable(bytes));
  machine.halts = any(machine.halts, all(not(same(bytes, 0n)), not(affordable)));
}

/**
 * @param sourceBytes the size of `source`. If `sourceBytes` is set, a read beyond the end of
 *   `source` halts
 */
function copy(
  machine: Machine,
  pop: () => Word,
  source: Memory,
  world: World,
  sourceBytes?: Word,
): void {
  const [to, from, bytes] = [pop(), pop(), pop()];
  touch(machine, to, bytes, world);
  if (sourceBytes !== undefined) {
    machine.halts = any(
      machine.halts,
      less(sourceBytes, from),
      less(sourceBytes, add(from, bytes)),
    );
  }
  write(machine, to, bytes, (index) => source(add(from, index)));
}

function write(machine: Machine, to: Word, bytes: Word, source: Memory): void {
  const before = machine.memory;
  machine.memory = (index) => {
    const offset = sub(index, to);
    return chooseByte(less(offset, bytes), source(offset), before(index));
  };
}

function ask(machine: Machine, pop: () => Word, world: World): void {
  const [gas, target, at, bytes, to, bytesMax] = [pop(), pop(), pop(), pop(), pop(), pop()];
  touch(machine, at, bytes, world);
  touch(machine, to, bytesMax, world);
  machine.questions.push({ gas, target, at, bytes, memory: machine.memory });
  const written = choose(less(bytesMax, world.answerBytes), bytesMax, world.answerBytes);
  write(machine, to, written, world.answer);
  machine.stack.push(flag(world.succeeds));
  machine.answered = world.answerBytes;
}
