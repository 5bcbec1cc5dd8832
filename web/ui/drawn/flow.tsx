// Draws incoming and outgoing amounts as ribbons. A ribbon's width is proportional to its amount.

import type { ReactNode } from "react";
import { type Shape, Shapes } from "./shapes.tsx";

type Ribbon = {
  /**
   * The amount, in the same unit for all ribbons. A ribbon of another token has the amount 0, and
   * is drawn as a thin line.
   */
  readonly units: bigint;
  /** Money that does not go to its intended recipient. */
  readonly isReturn?: boolean;
  /** Money that has not moved yet. The ribbon is pale and has a dashed outline. */
  readonly isAwaited?: boolean;
};

const rowHeight = 56;
const thickest = 40;
const thinnest = 2;
const width = 100;
const middle = width / 2;

export type Stream = Ribbon & { key: string; name: ReactNode; said: string };

type FlowProps = { label: string; from: readonly Stream[]; to: readonly Stream[] };

/** Names and amounts are in lists beside the drawing, so that users can select the text. */
export function Flow({ label, from, to }: FlowProps) {
  const { box, rem, shapes } = drawFlow(from, to);
  return (
    <figure className="flow" aria-label={label}>
      <Side streams={from} />
      <svg
        aria-hidden="true"
        viewBox={box}
        preserveAspectRatio="none"
        className="flow-picture"
        height={`${rem}rem`}
      >
        <Shapes of={shapes} />
      </svg>
      <Side streams={to} />
    </figure>
  );
}

function Side({ streams }: { streams: readonly Stream[] }) {
  return (
    <ul>
      {streams.map(({ key, name, said }) => (
        <li key={key}>
          <b>
            <bdi dir="ltr">{said}</bdi>
          </b>
          <span className="text-soft">{name}</span>
        </li>
      ))}
    </ul>
  );
}

type FlowPicture = { box: string; rem: string; shapes: Shape[] };

/**
 * Draws the ribbons. The drawing is as high as the longer of the two lists beside the drawing. Each
 * list has one row per ribbon.
 */
function drawFlow(from: readonly Ribbon[], to: readonly Ribbon[]): FlowPicture {
  const height = Math.max(from.length, to.length) * rowHeight;
  const sumShares = (ribbons: readonly Ribbon[]) =>
    ribbons.reduce((sum, { units }) => sum + units, 0n);
  const total = [sumShares(from), sumShares(to), 1n].reduce((most, sum) =>
    sum > most ? sum : most,
  );
  const vault = { x: middle - 1, y: height / 2 - thickest / 2 - 4, width: 2, height: thickest + 8 };
  return {
    box: `0 0 ${width} ${height}`,
    rem: (height / 16).toFixed(1),
    shapes: [
      ...drawSide(from, total, height, 0),
      ...drawSide(to, total, height, width),
      ["rect", { class: "flow-vault", ...vault }],
    ],
  };
}

/**
 * Draws the ribbons of one side. Each ribbon leads from its row at `edge` to the middle of the
 * drawing. There are no gaps between the ribbons at the middle.
 */
function drawSide(
  ribbons: readonly Ribbon[],
  total: bigint,
  height: number,
  edge: number,
): Shape[] {
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
    const name = isReturn ? "flow-return" : "flow-ribbon";
    return ["path", { d, class: isAwaited ? `${name} flow-awaited` : name }];
  });
}
