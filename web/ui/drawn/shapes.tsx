// Pictures as lists of SVG elements, so that their geometry can be tested without a browser.

import { createElement } from "react";

/** The name of an SVG element, its attributes, and its text if it has one. */
export type Shape = readonly [
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  text?: string,
];

export const Shapes = ({ of }: { of: readonly Shape[] }) =>
  of.map(([name, attributes, text], at) =>
    createElement(name, { key: at.toString(), ...attributes }, text),
  );
