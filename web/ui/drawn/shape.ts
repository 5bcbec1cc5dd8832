// Pictures as lists of SVG elements, so that a page and a kept receipt draw them by the same code.

/** The name of an element of SVG, its attributes, and its text where it has one. */
export type Shape = readonly [
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  text?: string,
];
