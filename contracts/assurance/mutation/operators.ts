// The mutation operators. Each operator returns texts that can replace one node of a contract's
// syntax tree.

import { at, list, type Node, place, typeOf } from "./source-tree.ts";

/** A change of a source: `to` replaces the bytes from `start` to `end`. */
export type Change = { operator: string; start: number; end: number; to: string };

/** The ancestors of a node, and the variables that were declared before it in the same function. */
export type Surroundings = {
  text: (node: Node) => string;
  /** The text of a statement, including its semicolon if it has one. */
  statement: (node: Node) => Statement;
  parents: Node[];
  variables: { name: string; type: string }[];
};

type Statement = { start: number; end: number; text: string };

type Operator = (node: Node, where: Surroundings) => Change[];

const replace = (operator: string, node: Node, ...texts: string[]): Change[] =>
  texts.map((to) => ({ operator, ...place(node), to }));

const comparisons: Record<string, string[]> = {
  "<": ["<="],
  "<=": ["<", "=="],
  ">": [">="],
  ">=": [">", "=="],
  "==": ["!="],
  "!=": ["=="],
};
/**
 * Some mutants limit a loop to 16 or 31 iterations. The library allows 32 calls. Most tests make
 * fewer calls and would not detect a lower limit.
 */
const loopsMax = [16, 31];
const arithmetic: Record<string, string> = { "+": "-", "-": "+", "*": "/", "/": "*" };
const yulOpposites: Record<string, string> = {
  add: "sub",
  sub: "add",
  lt: "gt",
  gt: "lt",
  and: "or",
  or: "and",
  eq: "sub",
};

const commutative = new Set(["add", "and", "or", "eq", "mul", "xor"]);

const solidity: Record<string, Operator> = {
  BinaryOperation(node, { text, parents }) {
    const [left, right] = [at(node, "leftExpression"), at(node, "rightExpression")];
    const symbol = String(node.operator);
    const other = (operator: string, other: string) =>
      replace(operator, node, `${text(left)} ${other} ${text(right)}`);
    if (symbol in comparisons) {
      const measures = [left, right].filter(isMeasure);
      const alternatives = [...parents.filter((each) => each.operator === "||"), node].map(text);
      return [
        ...comparisons[symbol]!.flatMap((symbol) => other("comparison", symbol)),
        ...replace("cut to 32 bits", node, ...measures.map((side) => cut(32, side, node, text))),
        ...replace(
          "zero passes",
          node,
          // Skips an operand that the condition compares with zero, because its mutant would have
          // no effect.
          ...measures
            .filter((side) => !alternatives.some((each) => each.includes(`${text(side)} == 0`)))
            .map((side) => zeroPasses(side, node, text)),
        ),
        ...replace(
          "cut to 8 bits",
          node,
          ...[left, right].filter(isConverted).map((side) => cut(8, side, node, text)),
        ),
      ];
    }
    if (symbol in arithmetic) {
      return [
        ...other("arithmetic", arithmetic[symbol]!),
        ...(symbol === "/" ? replace("operand left out", node, text(left)) : []),
      ];
    }
    const sides = replace("operand left out", node, text(left), text(right));
    if (symbol === "&&") return [...other("and, or", "||"), ...sides];
    return symbol === "||" ? [...other("and, or", "&&"), ...sides] : [];
  },

  UnaryOperation: (node, { text }) =>
    node.operator === "!" ? replace("not", node, text(at(node, "subExpression"))) : [],

  IfStatement: (node) => replace("condition", at(node, "condition"), "true", "false"),

  ForStatement: (node, { text }) => {
    const condition = at(node, "condition");
    const index = text(at(condition, "leftExpression"));
    const cut = loopsMax.map((max) => `${text(condition)} && ${index} < ${max}`);
    return replace("bound of a loop", condition, ...cut);
  },

  Conditional: (node, { text }) => {
    const [yes, no] = [at(node, "trueExpression"), at(node, "falseExpression")];
    return replace("condition", node, text(yes), text(no));
  },

  Literal(node, { text }) {
    if (node.kind === "bool") return replace("constant", node, String(node.value !== "true"));
    return node.kind === "number" ? replace("constant", node, next(text(node))) : [];
  },

  ExpressionStatement: removeStatement,
  EmitStatement: removeStatement,
  RevertStatement: (node, where) => [
    ...removeStatement(node, where),
    ...replace("another error", node, "revert NotVault()"),
  ],

  ModifierInvocation: (node) => replace("modifier removed", node, ""),

  FunctionCall: (node, { text }) => [
    ...swaps(list(node, "arguments"), text),
    ...(text(node) === "gasleft()" ? replace("gas", node, "(gasleft() / 2)") : []),
  ],
  FunctionCallOptions: (node, { text }) =>
    replace("option left out", node, text(at(node, "expression"))),

  Block: (node, { statement }) =>
    pairs(list(node, "statements"))
      .filter((pair) => !pair.some(isMereName))
      .map((pair) => pair.map(statement) as [Statement, Statement])
      .map(([first, second]) => ({
        operator: "order",
        start: first.start,
        end: second.end,
        to: `${second.text} ${first.text}`,
      })),

  Return(node, { text }) {
    const value = node.expression as Node | undefined;
    if (!value) return [];
    const other: Record<string, string> = {
      bool: `!(${text(value)})`,
      address: "address(0)",
      uint256: "0",
    };
    const to = other[typeOf(value)];
    return to ? replace("answer", value, to) : [];
  },

  Identifier: (node, where) => (isWritten(node, where.parents) ? [] : otherVariables(node, where)),

  MemberAccess(node, where) {
    const { text, parents } = where;
    if (isWritten(node, parents)) return [];
    const others: Record<string, string> = {
      "msg.sender": "tx.origin",
      "block.timestamp": "block.number",
      "msg.data.length": "(msg.data.length - 1)",
    };
    if (text(node) in others) return replace("member", node, others[text(node)]!);
    if (node.memberName === "selector") return replace("member", node, "bytes4(0)");
    return typeOf(node) === "address" ? otherVariables(node, where) : [];
  },
};

const yul: Record<string, Operator> = {
  YulExpressionStatement: (node) => replace("statement removed", node, "{}"),
  YulAssignment: (node) => replace("statement removed", node, "{}"),
  YulIf: (node) => replace("condition", at(node, "condition"), "0", "1"),
  YulLiteral(node, { parents }) {
    const caller = parents.at(-1)!;
    const name = "functionName" in caller ? String(at(caller, "functionName").name) : "";
    // Omits the constant arguments of calls, CREATE2, and MCOPY. Some constants are sizes in
    // memory. A larger size would have no effect, because no code reads the additional byte.
    if (node.kind !== "number" || /call$|^create2$|^mcopy$/.test(name)) return [];
    return replace("constant", node, next(String(node.value)));
  },
  YulFunctionCall(node, { text }) {
    const name = String(at(node, "functionName").name);
    const operands = list(node, "arguments");
    if (name === "gas") {
      return replace("gas", node, "div(gas(), 2)", "sub(gas(), 20000)", "300000");
    }
    if (name === "not" || name === "iszero") return replace("not", node, text(operands[0]!));
    const opposite = yulOpposites[name];
    const bound = operands[1];
    return [
      ...(name === "gt" && bound?.nodeType === "YulLiteral"
        ? replace("comparison", node, `eq(${text(operands[0]!)}, ${next(text(bound))})`)
        : []),
      ...(opposite ? replace("arithmetic", at(node, "functionName"), opposite) : []),
      ...(commutative.has(name) ? [] : swaps(operands, text)),
    ];
  },
};

const operators: Record<string, Operator> = { ...solidity, ...yul };

/** Returns the changes that the operators make to `node`, but not to the nodes below it. */
export const changesOf = (node: Node, where: Surroundings): Change[] =>
  operators[node.nodeType]?.(node, where) ?? [];

function removeStatement(node: Node, { parents, statement }: Surroundings): Change[] {
  // Keeps a loop's counter step, such as `++i`. Without the step, the loop would only run out of
  // gas.
  if (parents.at(-1)!.nodeType === "ForStatement") return [];
  const { start, end } = statement(node);
  return [{ operator: "statement removed", start, end, to: "{}" }];
}

/**
 * Returns whether a statement declares a variable and contains no function call. Moving such a
 * statement does not change the behavior.
 */
const isMereName = (node: Node) =>
  node.nodeType === "VariableDeclarationStatement" &&
  !JSON.stringify(node).includes('"FunctionCall"');

/**
 * Returns whether an expression is an amount, a time, or a chain ID. Returns false for counts,
 * indexes, and calldata offsets.
 */
const isMeasure = (node: Node) =>
  /^uint(256|64)$/.test(typeOf(node)) &&
  !/^(length|i|start|end)$/.test(String(node.memberName ?? node.name ?? "i"));

/** Returns whether a node converts a bytes value to a number. */
const isConverted = (node: Node) => node.kind === "typeConversion" && typeOf(node) === "uint256";

/** Returns the text of `node` with the operand `side` cut to its lowest `bits` bits. */
function cut(bits: number, side: Node, node: Node, text: Surroundings["text"]): string {
  const before = text(node).slice(0, place(side).start - place(node).start);
  const after = text(node).slice(place(side).end - place(node).start);
  return `${before}uint${bits}(${text(side)})${after}`;
}

const zeroPasses = (side: Node, node: Node, text: Surroundings["text"]) =>
  `(${text(side)} == 0 || ${text(node)})`;

const next = (number: string) => String(BigInt(number.replaceAll("_", "")) + 1n);

const pairs = <T>(items: T[]): [T, T][] => items.slice(1).map((item, i) => [items[i]!, item]);

/** Swaps neighboring operands of the same type. In Yul, everything has the same type. */
const swaps = (operands: Node[], text: (node: Node) => string): Change[] =>
  pairs(operands)
    .filter(([first, second]) => typeOf(first) === typeOf(second) && text(first) !== text(second))
    .map(([first, second]) => ({
      operator: "operands swapped",
      start: place(first).start,
      end: place(second).end,
      to: `${text(second)}, ${text(first)}`,
    }));

/**
 * Replaces an address or a uint256 with another variable of the same type. If there are several,
 * uses the variable that was declared last. If there are none, replaces an address with
 * `msg.sender`.
 */
function otherVariables(node: Node, { text, variables }: Surroundings): Change[] {
  const type = typeOf(node);
  if (type !== "address" && type !== "uint256") return [];
  const other = variables.findLast(
    (variable) => variable.type === type && variable.name !== text(node),
  );
  if (other) return replace("another variable", node, other.name);
  return type === "address" ? replace("another variable", node, "msg.sender") : [];
}

function isWritten(node: Node, parents: Node[]): boolean {
  const parent = parents.at(-1);
  if (!parent) return false;
  if (parent.nodeType === "Assignment") return parent.leftHandSide === node;
  if (parent.nodeType === "TupleExpression") return isWritten(parent, parents.slice(0, -1));
  return parent.nodeType === "UnaryOperation";
}
