// Converts response shapes to JSON Schemas. The descriptions are the doc comments in the source
// code.

import { readFileSync } from "node:fs";
import type { Shape } from "executable-address/shapes";
import * as shapes from "executable-address/shapes";
import { eventTypes } from "executable-address/webhook";
import { z } from "zod";
import { errorBody, errorDetails, issue } from "../errors.ts";

export type Schema = { [keyword: string]: unknown };

/**
 * A doc comment: its description, and the constraints that its tags define. The library's client
 * does not check the constraints from tags.
 */
type Comment = { description?: string; tags: Schema };
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

/**
 * A component usually has the name of its constant with an uppercase first letter. This table
 * contains the exceptions.
 */
const names: Record<string, string> = {
  errorBody: "Error",
  serviceEvent: "Event",
  serviceStatus: "Status",
};
/** The lists of values to which a doc comment can refer, as in `@values mistakes`. */
const { mistakes, paymentKinds, returnedParts, returnTimes, returnTriggers } = shapes;
const lists: Record<string, readonly string[]> = {
  ...{ eventTypes, mistakes, paymentKinds, returnedParts, returnTimes, returnTriggers },
};

const comments = readComments();
/**
 * Maps each shape that has a doc comment to the name of its constant. Only shapes with a doc
 * comment become components of the document.
 */
const constants = new Map<Shape, string>(
  Object.entries<unknown>({ ...shapes, errorBody, errorDetails, issue })
    .filter((entry): entry is [string, Shape] => typeof entry[1] === "object")
    .filter(([name]) => comments.get(name)?.own.description !== undefined)
    .map(([name, shape]) => [shape, name]),
);

const componentOf = (constant: string) =>
  names[constant] ?? constant[0]!.toUpperCase() + constant.slice(1);

/** Returns the schema of each component, by name. */
export function describeComponents(): Record<string, Schema> {
  const described = [...constants].map(([shape, constant]) => {
    const { own } = comments.get(constant)!;
    return [componentOf(constant), { ...describeInline(shape, constant), ...describeComment(own) }];
  });
  return Object.fromEntries(described.sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)));
}

/** Returns a reference if the shape is a component. Otherwise, returns the shape's schema. */
export function describeShape(shape: Shape): Schema {
  const constant = constants.get(shape);
  return constant === undefined ? describeInline(shape) : referenceTo(componentOf(constant));
}

function describeInline(shape: Shape, constant?: string): Schema {
  const { pattern, items, properties, minimum, maximum, like: _, ...plain } = shape;
  const anyOf = plain.anyOf?.filter(({ type }) => type !== "undefined");
  if (anyOf?.length === 1) return describeShape(anyOf[0]!);
  return {
    ...plain,
    ...(pattern && { pattern: pattern.source }),
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && { maximum }),
    ...(items && { items: describeShape(items) }),
    ...(anyOf && { anyOf: anyOf.map(describeShape) }),
    ...(properties &&
      Object.keys(properties).length > 0 && {
        properties: describeFields(properties, constant),
        required: Object.keys(properties).filter(
          (name) => !shapes.fits(properties[name]!, undefined),
        ),
      }),
  };
}

function describeFields(fields: Readonly<Record<string, Shape>>, constant?: string): Schema {
  return Object.fromEntries(
    Object.entries(fields).map(([name, shape]) => {
      const comment = constant && findComment(constant, name);
      return [name, { ...describeShape(shape), ...(comment ? describeComment(comment) : {}) }];
    }),
  );
}

/**
 * Returns the doc comment of a constant's field. If the field has no doc comment, searches the
 * constants whose fields this constant includes (`bases`).
 */
function findComment(constant: string, field: string): Comment | undefined {
  const found = comments.get(constant);
  const above = found?.fields.get(field);
  if (above || !found) return above;
  for (const base of found.bases) {
    const inherited = findComment(base, field);
    if (inherited) return inherited;
  }
  return undefined;
}

const describeComment = ({ description, tags }: Comment): Schema => ({
  ...tags,
  // Omits the pattern if a doc comment defines values or a format, which are more exact.
  ...(tags.enum || tags.format ? { pattern: undefined } : {}),
  ...(description !== undefined && { description }),
});

function referenceTo(component: string): Schema {
  return { $ref: `#/components/schemas/${component}` };
}

function readComments(): Map<string, Commented> {
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

function parseComment(text = ""): Comment {
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
  const description = joined.replace(/\{@link (\w+)\}/g, "`$1`");
  return { ...(description && { description }), tags: Object.assign({}, ...tags.map(readTag)) };
}

function readTag([name, value]: readonly [string, string]): Schema {
  if (/^(min|max)(imum|Items|Length)$/.test(name)) return { [name]: Number(value) };
  if (name === "pattern" || name === "format") return { [name]: value };
  if (name === "values") return { enum: lists[value] };
  if (name === "ref") return referenceTo(value);
  if (name === "throws" || name === "param") return {};
  throw new Error(`unknown tag @${name} in a doc comment`);
}

/** Converts the Zod schema of an input to a JSON Schema. */
export function describeInput(schema: z.ZodType): Schema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema, zodSchema: { _zod } }) => {
      if (_zod.def.type === "default")
        jsonSchema.default = (_zod.def as { defaultValue: unknown }).defaultValue;
      // In a query, integers are text that matches a pattern. The document describes them as
      // integers, without the pattern.
      if (jsonSchema.type === "integer") delete jsonSchema.pattern;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
    },
  });
  return described;
}
