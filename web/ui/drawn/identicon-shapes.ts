import { bloImage } from "blo";
import type { Shape } from "./shape.ts";

const half = 4;
export const identiconBox = "0 0 8 8";

/**
 * The picture that wallets and explorers draw for an address: eight by eight squares, the right
 * half the left one's mirror.
 */
export function identiconShapes(address: string): Shape[] {
  const [data, palette] = bloImage(address as `0x${string}`);
  const colours = palette.map(([hue, saturation, light]) => `hsl(${hue} ${saturation}% ${light}%)`);
  const square = (x: number, y: number, fill: string): Shape => [
    "rect",
    { x, y, width: 1, height: 1, fill },
  ];
  return [
    ["rect", { width: 8, height: 8, fill: colours[0]! }],
    ...[...data].flatMap((cell, at) => {
      if (cell === 0) return [];
      const [x, y] = [at % half, Math.floor(at / half)];
      return [x, 7 - x].map((column) => square(column, y, colours[cell]!));
    }),
  ];
}
