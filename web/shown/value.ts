// The text of an array or a tuple taken apart for display, by its type. verifyRecord has checked
// that the text is JSON of exactly this shape: spec/decisions.md on arguments.

import { type Parameter, splitFunction } from "executable-address-element/page";

export type Field = Parameter & { value: string };

/** The items of an array type, each as an argument's text; undefined for any other type. */
export function itemsOf(
  type: string,
  text: string,
): { type: string; values: string[] } | undefined {
  const array = /^(.*)\[\d*\]$/s.exec(type);
  const parsed = array && listOf(text);
  return parsed ? { type: array[1]!, values: parsed } : undefined;
}

/** The fields of a tuple type, in order; undefined for any other type. */
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
