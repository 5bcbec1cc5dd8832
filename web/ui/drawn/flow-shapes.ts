// Money that comes in, is held, and goes out, as ribbons as wide as what they carry.

import type { Shape } from "./shape.ts";

export type Ribbon = {
  /** In units that all ribbons share; 0 is drawn as a thread: money of another token. */
  readonly units: bigint;
  /** Not where the money was meant to go. */
  readonly isReturn?: boolean;
  /** Money that has not come yet. */
  readonly isAwaited?: boolean;
};

const rowHeight = 56;
const thickest = 40;
const thinnest = 2;
const width = 100;
const middle = width / 2;

export type FlowPicture = { box: string; rem: string; shapes: Shape[] };

/** `rem`: the picture's height, a row of text each for the longer of the two lists beside it. */
export function flowPicture(from: readonly Ribbon[], to: readonly Ribbon[]): FlowPicture {
  const height = Math.max(from.length, to.length) * rowHeight;
  const sumOf = (ribbons: readonly Ribbon[]) => ribbons.reduce((sum, { units }) => sum + units, 0n);
  const total = [sumOf(from), sumOf(to), 1n].reduce((most, sum) => (sum > most ? sum : most));
  const vault = { x: middle - 1, y: height / 2 - thickest / 2 - 4, width: 2, height: thickest + 8 };
  return {
    box: `0 0 ${width} ${height}`,
    rem: (height / 16).toFixed(1),
    shapes: [
      ...side(from, total, height, 0),
      ...side(to, total, height, width),
      ["rect", { class: "flow-vault", ...vault }],
    ],
  };
}

/** From the rows at `edge` to the middle, where they lie side by side. */
function side(ribbons: readonly Ribbon[], total: bigint, height: number, edge: number): Shape[] {
  const widths = ribbons.map(({ units }) =>
    Math.max(thinnest, (Number(units) / Number(total)) * thickest),
  );
  let y = height / 2 - widths.reduce((sum, each) => sum + each, 0) / 2;
  const bend = (edge + middle) / 2;
  return ribbons.map(({ isReturn, isAwaited }, at) => {
    const wide = widths[at]!;
    const row = ((at + 0.5) / ribbons.length) * height - wide / 2;
    const d =
      `M${edge} ${row}C${bend} ${row} ${bend} ${y} ${middle} ${y}` +
      `v${wide}C${bend} ${y + wide} ${bend} ${row + wide} ${edge} ${row + wide}z`;
    y += wide;
    const name = isReturn ? "flow-return" : isAwaited ? "flow-ribbon flow-awaited" : "flow-ribbon";
    return ["path", { d, class: name }];
  });
}
