// Splits the text of an array or tuple for display. verifyRecord has already checked that the text
// is JSON of the type (spec/terms.md, arguments).

import { type Parameter, splitFunction } from "./function.ts";

export type Field = Parameter & { value: string };

/** Returns the items of an array as texts. Returns undefined for other types. */
export function itemsOf(
  type: string,
  text: string,
): { type: string; values: string[] } | undefined {
  const array = /^(.*)\[\d*\]$/s.exec(type);
  const parsed = array && listOf(text);
  return parsed ? { type: array[1]!, values: parsed } : undefined;
}

/** Returns the fields of a tuple in order. Returns undefined for other types. */
export function fieldsOf(type: string, text: string): Field[] | undefined {
  if (!/^\(.*\)$/s.test(type)) return undefined;
  const values = listOf(text);
  const { parameters } = splitFunction(type);
  if (values?.length !== parameters.length) return undefined;
  return parameters.map((parameter, at) => ({ ...parameter, value: values[at]! }));
}

const listOf = (text: string): string[] | undefined => {
  try {
    const list: unknown = JSON.parse(text);
    if (!Array.isArray(list)) return undefined;
    return list.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  } catch {
    return undefined;
  }
};
