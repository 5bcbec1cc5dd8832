// Generates mutants that weaken one check (guard) of a contract. A weakened check wrongly accepts
// some cases, such as one position, one kind of target, or some amounts. The generator covers every
// check and event. A handwritten list would contain only the mistakes that its author knows.

import { readCollector, type Sources } from "../published/standard-input.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";
import type { Change, Surroundings } from "./operators.ts";
import { at, list, type Node, place, typeOf } from "./source-tree.ts";

/** Returns mutants of the factory and of the vault, each with one weaker check. */
export const mutantsOfGuards = (sources: Sources): Mutant[] => mutantsOf(sources, weakened);

/** Returns every mutant of the Collector, including the mutants with weakened checks. */
export function mutantsOfCollector(): Mutant[] {
  const sources = readCollector();
  return [undefined, weakened].flatMap((change) =>
    mutantsOf(sources, change, Object.keys(sources)),
  );
}

function weakened(node: Node, where: Surroundings): Change[] {
  switch (node.nodeType) {
    case "IfStatement":
      return narrowCondition(node, where);
    case "EmitStatement":
      return [...narrowEvent(node, where), ...capAmounts(node, where)];
    case "BinaryOperation":
      return cutComparison(node, where);
    case "ForStatement":
      return hoistVariables(node, where);
    default:
      return [];
  }
}

function narrowCondition(node: Node, where: Surroundings): Change[] {
  const condition = at(node, "condition");
  const text = where.text(condition);
  return kindsAt(where, text).map((kind) => ({
    operator: `guard only if ${kind}`,
    ...place(condition),
    to: `(${kind}) && (${text})`,
  }));
}

function narrowEvent(node: Node, where: Surroundings): Change[] {
  const { start, end, text } = where.statement(node);
  return kindsAt(where, text).map((kind) => ({
    operator: `event only if ${kind}`,
    start,
    end,
    to: `if (${kind}) ${text}`,
  }));
}

/**
 * Returns Solidity conditions such as `index == 0`. A mutant keeps the check or event only where
 * the condition is true. The conditions use the variables that are in scope.
 */
function kindsAt({ parents, variables, text }: Surroundings, guard: string): string[] {
  const kinds: string[] = [];
  const loop = parents.findLast((parent) => parent.nodeType === "ForStatement");
  if (loop) {
    const condition = at(loop, "condition");
    const index = text(at(condition, "leftExpression"));
    const last = `${text(at(condition, "rightExpression"))} - 1`;
    kinds.push(`${index} == 0`, `${index} != 0`, `${index} == ${last}`, `${index} < 8`);
  }
  if (guard.includes("gasleft()")) {
    kinds.push("gasleft() < 5_000_000", "gasleft() >= 1_000_000");
  }
  for (const { name, type } of variables) {
    if (/^struct Intent/.test(type)) {
      kinds.push(`${name}.chainId == block.chainid`, `${name}.chainId != block.chainid`);
      kinds.push(`${name}.calls.length != 0`, `${name}.calls.length < 2`, `${name}.amount != 0`);
    }
    if (type === "bytes4") kinds.push(`_isTokenCall(${name})`, `!_isTokenCall(${name})`);
    if (name === "recipient") kinds.push("recipient != msg.sender", "recipient == msg.sender");
    if (name === "least") kinds.push("least < most", "least == most", "least > 1");
    if (name === "size") kinds.push("size == 0", "size != 0");
  }
  // If the check already contains one of these conditions, adding the condition again changes
  // nothing.
  const required = guard.split(" && ");
  return kinds.filter((kind) => !required.includes(kind));
}

/**
 * For an event that reports two amounts, returns two mutants. In one mutant, the second amount is
 * the smaller of the two. In the other mutant, it is the larger.
 */
function capAmounts(node: Node, { text }: Surroundings): Change[] {
  const amounts = list(at(node, "eventCall"), "arguments").filter(
    (each) => each.nodeType === "Identifier" && typeOf(each) === "uint256",
  );
  const [first, second] = amounts;
  if (!first || !second) return [];
  const [low, high] = [text(first), text(second)];
  return [
    { operator: "capped", ...place(second), to: `(${high} < ${low} ? ${high} : ${low})` },
    { operator: "raised", ...place(second), to: `(${high} > ${low} ? ${high} : ${low})` },
  ];
}

/**
 * Returns mutants that compare only some bits of two numbers, or test their order instead of
 * equality. Omits a mutant that only an impossible value could detect, such as a negative number or
 * a size of 2^64 bytes.
 */
function cutComparison(node: Node, { text }: Surroundings): Change[] {
  const sides = [at(node, "leftExpression"), at(node, "rightExpression")] as const;
  const isNumber = (side: Node) => /^(uint256|int_const)/.test(typeOf(side));
  if (!/^[=!]=$/.test(String(node.operator)) || !sides.every(isNumber)) return [];
  const [left, right] = sides.map(text) as [string, string];
  const isEqual = node.operator === "==";
  const orders = right === "0" ? [isEqual ? ">=" : "<"] : isEqual ? [">=", "<="] : [">", "<"];
  const widths = /(^size|\.length)$/.test(left) ? [] : [64, 128];
  const changed = [
    ...orders.map((order) => `${left} ${order} ${right}`),
    ...widths.map((bits) => `uint${bits}(${left}) ${node.operator} uint${bits}(${right})`),
  ];
  return changed.map((to) => ({ operator: "weaker comparison", ...place(node), to }));
}

/** Returns mutants that read a gas amount or a balance only once, before a loop. */
function hoistVariables(node: Node, { text }: Surroundings): Change[] {
  const declared = list(at(node, "body"), "statements").filter(
    (each) => each.nodeType === "VariableDeclarationStatement",
  );
  return declared
    .filter((each) => /gasleft\(\)|balance/.test(text(each)))
    .map((each) => {
      const loop = text(node).replace(text(each), "");
      return { operator: "read once", ...place(node), to: `${text(each)}; ${loop}` };
    });
}
