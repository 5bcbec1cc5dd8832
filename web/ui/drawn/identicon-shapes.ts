import { drawIdenticon, identiconSide } from "executable-address-element/page";
import type { Shape } from "./shape.ts";

export const identiconBox = `0 0 ${identiconSide} ${identiconSide}`;
export const identiconShapes = (address: string): Shape[] =>
  drawIdenticon(address).map((squares) => ["path", squares]);
