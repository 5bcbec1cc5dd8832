// Represents pictures as lists of SVG elements. Tests can check the geometry without a browser.

import { createElement } from "react";

/** An SVG element: its name, its attributes, and its text if it has any. */
export type Shape = readonly [
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  text?: string,
];

export const Shapes = ({ of }: { of: readonly Shape[] }) =>
  of.map(([name, attributes, text], at) =>
    createElement(name, { key: at.toString(), ...attributes }, text),
  );
