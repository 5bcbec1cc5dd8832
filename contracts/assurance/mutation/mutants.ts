// Generates every mutant of the contracts. A mutant changes one place in one source.

import type { Sources } from "../published/standard-input.ts";
import { type Change, changesOf, type Surroundings } from "./operators.ts";
import { below, type Node, parse, place, typeOf } from "./source-tree.ts";

/**
 * One change of a source. `file`, `in`, `operator`, `from`, `to`, and `nth` identify the change.
 * `nth` (from 0) counts the occurrences of the same text in a function.
 */
export type Mutant = {
  file: string;
  /**
   * The function or modifier that contains the change, or the contract if the change is in neither.
   */
  in: string;
  operator: string;
  from: string;
  to: string;
  nth: number;
  line: number;
  source: string;
};

/** Returns a one-line name of a mutant. */
export const nameOf = ({
  file,
  in: within,
  operator,
  from,
  to,
  nth,
}: Omit<Mutant, "source" | "line">) =>
  `${file} ${within}: ${operator}: ${from} -> ${to}${nth > 0 ? ` (${nth + 1})` : ""}`;

/** IPaymentFactory.sol is not listed, because an interface has no code. */
const ofFactory = ["src/Vault.sol", "src/PaymentFactory.sol"];

/**
 * Returns all mutants that `change` makes from the nodes of `files` (default: the factory's two
 * files).
 */
export function mutantsOf(
  sources: Sources,
  change: Operators = changesOf,
  files: readonly string[] = ofFactory,
): Mutant[] {
  const trees = parse(sources);
  const found = new Map<string, Mutant>();
  for (const file of files) {
    const bytes = Buffer.from(sources[file]!);
    const text = (node: Node) => bytes.toString("utf8", place(node).start, place(node).end);
    const keep = (made: Change, within: string) => {
      const mutant = apply(made, file, within, bytes);
      while (found.has(nameOf(mutant))) {
        if (found.get(nameOf(mutant))!.source === mutant.source) return;
        ++mutant.nth;
      }
      found.set(nameOf(mutant), mutant);
    };
    const statement = (node: Node) => {
      const { start, end: bare } = place(node);
      const end = bytes[bare] === semicolon ? bare + 1 : bare;
      return { start, end, text: bytes.toString("utf8", start, end) };
    };
    visit(trees[file]!, { text, statement, parents: [], variables: [] }, "", keep, change);
  }
  return [...found.values()];
}

/** Returns the possible changes of one node of the syntax tree. */
type Operators = (node: Node, where: Surroundings) => Change[];

const semicolon = ";".charCodeAt(0);

function apply({ operator, start, end, to }: Change, file: string, within: string, bytes: Buffer) {
  const from = short(bytes.toString("utf8", start, end));
  const source = Buffer.concat([bytes.subarray(0, start), Buffer.from(to), bytes.subarray(end)]);
  const line = bytes.toString("utf8", 0, start).split("\n").length;
  const common = { file, in: within, operator, from, to: short(to), nth: 0, line };
  return { ...common, source: source.toString("utf8") };
}

/** Shortens a text to one line of at most 90 characters. */
const short = (text: string) => {
  const line = text.replace(/\s+/g, " ");
  return line.length <= 90 ? line : `${line.slice(0, 59)} … ${line.slice(-28)}`;
};

const named = new Set(["ContractDefinition", "FunctionDefinition", "ModifierDefinition"]);

/** Visits the nodes of a tree, with the variables that are declared before each node. */
function visit(
  node: Node,
  where: Surroundings,
  within: string,
  keep: (made: Change, within: string) => void,
  change: Operators,
): void {
  const name = named.has(node.nodeType) ? String(node.name || node.kind) : within;
  const isFunction = /^(Function|Modifier)Definition$/.test(node.nodeType);
  if (isFunction) where = { ...where, variables: [] };
  for (const made of change(node, where)) keep(made, name);
  const inside = { ...where, parents: [...where.parents, node] };
  for (const child of below(node)) visit(child, inside, name, keep, change);
  if (node.nodeType === "VariableDeclaration" && node.name) {
    where.variables.push({ name: String(node.name), type: typeOf(node) });
  }
}
