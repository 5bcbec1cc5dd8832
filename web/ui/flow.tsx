// Money that comes in, is held, and goes out, as ribbons as wide as what they carry. Names and
// amounts are lists beside the drawing, so they are read, selected and printed as text.

import type { ReactNode } from "react";

export type Stream = {
  key: string;
  name: ReactNode;
  said: string;
  /** In units that all streams share; 0 is drawn as a thread: money of another token. */
  units: bigint;
  /** Not where the money was meant to go. */
  isReturn?: boolean;
};

type FlowProps = { label: string; from: readonly Stream[]; to: readonly Stream[] };

const rowHeight = 56;
const thickest = 40;
const thinnest = 2;
const width = 100;
const middle = width / 2;

export function Flow({ label, from, to }: FlowProps) {
  const rows = Math.max(from.length, to.length);
  const height = rows * rowHeight;
  const sumOf = (streams: readonly Stream[]) => streams.reduce((sum, { units }) => sum + units, 0n);
  const total = [sumOf(from), sumOf(to), 1n].reduce((most, sum) => (sum > most ? sum : most));
  return (
    <figure className="flow" aria-label={label}>
      <Side streams={from} />
      <svg
        aria-hidden="true"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        className="flow-picture"
        height={`${(height / 16).toFixed(1)}rem`}
      >
        <Ribbons streams={from} total={total} height={height} edge={0} />
        <Ribbons streams={to} total={total} height={height} edge={width} />
        <rect
          className="flow-vault"
          x={middle - 1}
          y={height / 2 - thickest / 2 - 4}
          width="2"
          height={thickest + 8}
        />
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

type RibbonsProps = { streams: readonly Stream[]; total: bigint; height: number; edge: number };

/** From the rows at `edge` to the middle, where they lie side by side. */
function Ribbons({ streams, total, height, edge }: RibbonsProps) {
  const widths = streams.map(({ units }) =>
    Math.max(thinnest, (Number(units) / Number(total)) * thickest),
  );
  let y = height / 2 - widths.reduce((sum, each) => sum + each, 0) / 2;
  const bend = (edge + middle) / 2;
  return streams.map(({ key, isReturn }, at) => {
    const wide = widths[at]!;
    const row = ((at + 0.5) / streams.length) * height - wide / 2;
    const path =
      `M${edge} ${row}C${bend} ${row} ${bend} ${y} ${middle} ${y}` +
      `v${wide}C${bend} ${y + wide} ${bend} ${row + wide} ${edge} ${row + wide}z`;
    y += wide;
    return <path key={key} d={path} className={isReturn ? "flow-return" : "flow-ribbon"} />;
  });
}
