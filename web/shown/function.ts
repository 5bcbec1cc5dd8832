// Splits a function signature for display. verifyRecord has already verified its syntax.

export type Parameter = { type: string; name: string };
type FunctionParts = { name: string; parameters: Parameter[] };

/** @param text `name(type name, …)` of a verified intent */
export function splitFunction(text: string): FunctionParts {
  const open = text.indexOf("(");
  const inner = text.slice(open + 1, -1);
  return {
    name: text.slice(0, open),
    parameters: inner === "" ? [] : splitOutermost(inner).map(splitParameter),
  };
}

/**
 * Returns the signature without parameter names, such as `transfer(address,uint256)`. The selector
 * is derived from the signature without names.
 */
export function writeSignature({ name, parameters }: FunctionParts): string {
  return `${name}(${parameters.map(({ type }) => type).join(",")})`;
}

const splitParameter = (text: string): Parameter => {
  const at = text.lastIndexOf(" ");
  return { type: text.slice(0, at), name: text.slice(at + 1) };
};

const splitOutermost = (list: string): string[] => {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < list.length; at++) {
    if (list[at] === "(") depth++;
    else if (list[at] === ")") depth--;
    else if (depth === 0 && list.startsWith(", ", at)) {
      parts.push(list.slice(start, at));
      start = at + 2;
    }
  }
  return [...parts, list.slice(start)];
};
