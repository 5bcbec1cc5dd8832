// Reads the doc comments of the response shapes from the source code.

import { readFileSync } from "node:fs";
import { termsBytesMax } from "executable-address";
import {
  deliveryIdPattern,
  endpointIdPattern,
  eventIdPattern,
  measuredBalancesMax,
} from "executable-address/client/internal";
import { decimalsMax, symbolMax } from "executable-address/payment";
import {
  argsMax,
  callsMax,
  mistakes,
  paymentKinds,
  provedPaymentsMax,
  returnedParts,
  returnTimes,
  returnTriggers,
} from "executable-address/shapes";
import { eventTypes } from "executable-address/webhook";
import { tokensPerTransactionMax } from "../../chain/sent.ts";
import { reasonCharactersMax } from "../../chain/simulation/revert.ts";
import { listedPaymentsMax } from "../../events/paid.ts";
import { issuesPerResponseMax } from "../errors.ts";

export type Schema = { [keyword: string]: unknown };

/**
 * A doc comment: its description, and the constraints that its tags define. The library's client
 * does not check the constraints from tags.
 */
export type Comment = { description?: string; tags: Schema };
/**
 * The doc comments of a constant (`own`) and of its fields (`fields`). `bases` are the names of
 * other constants whose fields this constant includes.
 */
type Commented = { own: Comment; fields: Map<string, Comment>; bases: string[] };

const sources = [
  ...["shape", "intent/intent", "status/shape", "status/returns", "status/sent"].map(
    (name) => `../../../address/${name}.ts`,
  ),
  ...["answers", "check", "endpoints", "lists", "shapes", "simulation"].map(
    (name) => `../../../address/client/${name}.ts`,
  ),
  "../errors.ts",
];

/** The lists of values to which a doc comment can refer, as in `@values mistakes`. */
const lists: Record<string, readonly string[]> = {
  ...{ eventTypes, mistakes, paymentKinds, returnedParts, returnTimes, returnTriggers },
};
/** The patterns to which a doc comment can refer, as in `@pattern eventIdPattern`. */
const patterns: Record<string, RegExp> = { deliveryIdPattern, endpointIdPattern, eventIdPattern };
/** The limits to which a doc comment can refer, as in `@maxItems callsMax`. */
const limits: Record<string, number> = {
  ...{ argsMax, callsMax, decimalsMax, issuesPerResponseMax, listedPaymentsMax },
  ...{
    measuredBalancesMax,
    provedPaymentsMax,
    reasonCharactersMax,
    symbolMax,
    termsBytesMax,
    tokensPerTransactionMax,
  },
};

/** Returns the doc comments of each constant of the sources, by the name of the constant. */
export function readComments(): Map<string, Commented> {
  const found = new Map<string, Commented>();
  for (const source of sources) {
    let open: Commented | undefined;
    for (const [, comment, code] of pairsIn(
      readFileSync(new URL(source, import.meta.url), "utf8"),
    )) {
      const [, constant] = /^(?:export )?const (\w+)/.exec(code!) ?? [];
      const [, base] = /^\s+\.\.\.(\w+)\.properties,/.exec(code!) ?? [];
      const [, field] = /^\s+(\w+)[:,]/.exec(code!) ?? [];
      if (constant !== undefined) {
        open = { own: parseComment(comment), fields: new Map(), bases: [] };
        found.set(constant, open);
      } else if (base !== undefined) open?.bases.push(base);
      else if (field !== undefined && comment !== undefined)
        open?.fields.set(field, parseComment(comment));
    }
  }
  return found;
}

/** Matches a line of code and the doc comment above it, if any. */
function pairsIn(source: string) {
  return source.matchAll(/^(?:[^\S\n]*\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?([^\n]+)$/gm);
}

/**
 * Parses the text between the delimiters of a doc comment.
 *
 * @throws if a tag is unknown, or its value is not allowed for this tag
 */
export function parseComment(text = ""): Comment {
  const lines = text.split("\n").map((line) => line.replace(/^\s*\*?\s?/, "").trimEnd());
  const tags = lines.flatMap((line) => {
    const [, name, value] = /^@(\w+) (.*?)\s*$/.exec(line.trim()) ?? [];
    return name === undefined ? [] : [[name, value!] as const];
  });
  const prose = lines
    .filter((line) => !/^\s*@/.test(line))
    .join("\n")
    .trim();
  // Joins wrapped lines, except before list items and at empty lines between paragraphs.
  const joined = prose.replace(/(?<!\n)\n(?!- |\n) */g, " ");
  const description = joined.replace(/\{@link (\w+)\}/g, (_, name: string) =>
    Object.hasOwn(limits, name) ? limits[name]!.toLocaleString("en-US") : `\`${name}\``,
  );
  return { ...(description && { description }), tags: Object.assign({}, ...tags.map(readTag)) };
}

function readTag([name, value]: readonly [string, string]): Schema {
  if (/^max(imum|Items|Length)$/.test(name)) return { [name]: find(limits, name, value) };
  if (name === "minItems" || name === "minLength") return { [name]: Number(value) };
  if (name === "pattern" && /^\w/.test(value))
    return { pattern: find(patterns, name, value).source };
  if (name === "pattern" || name === "format") return { [name]: value };
  if (name === "values") return { enum: find(lists, name, value) };
  if (name === "ref") return referenceTo(value);
  if (name === "throws" || name === "param") return {};
  throw new Error(`unknown tag @${name} in a doc comment`);
}

function find<T>(constants: Record<string, T>, tag: string, name: string): T {
  if (Object.hasOwn(constants, name)) return constants[name]!;
  const known = Object.keys(constants).join(", ");
  throw new Error(`@${tag}: expected one of ${known}, found ${name}`);
}

export function referenceTo(component: string): Schema {
  return { $ref: `#/components/schemas/${component}` };
}
