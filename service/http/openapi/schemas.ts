// Converts response shapes to JSON Schemas. The descriptions are the doc comments in the source
// code.

import type { Shape } from "executable-address/shapes";
import * as shapes from "executable-address/shapes";
import { z } from "zod";
import { errorBody, errorDetails, issue } from "../errors.ts";
import { type Comment, readComments, referenceTo, type Schema } from "./comments.ts";

/**
 * A component usually has the name of its constant with an uppercase first letter. This table
 * contains the exceptions.
 */
const names: Record<string, string> = {
  errorBody: "Error",
  serviceEvent: "Event",
  serviceStatus: "Status",
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
