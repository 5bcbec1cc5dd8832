import { createElement } from "react";
import type { Shape } from "./shape.ts";

export const Shapes = ({ of }: { of: readonly Shape[] }) =>
  of.map(([name, attributes, text], at) =>
    createElement(name, { key: at.toString(), ...attributes }, text),
  );
