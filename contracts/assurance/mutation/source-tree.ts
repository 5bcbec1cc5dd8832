// Reads the syntax tree of Solidity sources from solc, with the text of each node.

import { compile, type Sources, standardInput } from "../published/standard-input.ts";

/** Returns the syntax tree of each source file. Throws if `sources` do not compile. */
export function parse(sources: Sources): Record<string, Node> {
  const output = compile(standardInput(sources, { "*": { "": ["ast"] } }));
  const error = output.errors?.find(({ severity }) => severity === "error");
  if (error) throw new Error(error.formattedMessage);
  return Object.fromEntries(
    Object.entries(output.sources).map(([name, { ast }]) => [name, ast as Node]),
  );
}

export type Node = { nodeType: string; src: string; [property: string]: unknown };

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "nodeType" in value;

/** Returns the nodes directly below `node`, in the order of the source. */
export const below = (node: Node): Node[] =>
  Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isNode)
    .sort((a, b) => place(a).start - place(b).start);

export const at = (node: Node, property: string) => node[property] as Node;
export const list = (node: Node, property: string) => (node[property] ?? []) as Node[];

/** Offsets are in bytes of UTF-8. */
export const place = ({ src }: Node) => {
  const [start, bytes] = src.split(":").map(Number);
  return { start: start!, end: start! + bytes! };
};

export const typeOf = (node: Node) =>
  (node.typeDescriptions as { typeString?: string } | undefined)?.typeString ?? "";
