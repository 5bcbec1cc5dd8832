// A chart of stacked columns that supports keyboards, pointers, and screen readers.

import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { useSpeech } from "../words/speech.ts";

/** A column: its description (`says`) and the heights of its parts, from bottom to top. */
export type Bar = { label: string; says: string; parts: readonly number[] };

const width = 720;
const height = 160;

type ChartProps = {
  bars: readonly Bar[];
  title: string;
  /** The CSS class of each part, from bottom to top. */
  fills: readonly string[];
  /** Formats the chart's maximum, which is the highest column's value rounded up. */
  sayMost: (most: number) => string;
};

/**
 * A chart of stacked columns. The user selects a column with the pointer or the arrow keys. The
 * line above the chart describes the selected column.
 */
export function Chart({ bars, title, fills, sayMost }: ChartProps) {
  const { say } = useSpeech();
  const [at, setAt] = useState<number>();
  const most = roundUp(Math.max(...bars.map(({ parts }) => sumOf(parts))) || 1);
  const step = width / bars.length;
  const bar = at === undefined ? undefined : bars[at];

  const walk = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    setAt(Math.min(bars.length - 1, Math.max(0, (at ?? bars.length) + by)));
  };
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * bars.length);
    setAt(Math.min(bars.length - 1, Math.max(0, column)));
  };

  return (
    <figure>
      <figcaption aria-live="polite" className="mb-2 min-h-6 text-sm text-soft tabular-nums">
        {bar ? `${bar.label}: ${bar.says}` : say("chartHint", { most: sayMost(most) })}
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={title}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys select the columns
        tabIndex={0}
        onKeyDown={walk}
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
        onBlur={() => setAt(undefined)}
        className="block h-40 w-full rounded"
      >
        {at !== undefined && (
          <rect className="chart-at" x={at * step} y="0" width={step} height={height} />
        )}
        {[0.5, height / 2, height - 0.5].map((y) => (
          <line key={y} className="chart-line" x1="0" x2={width} y1={y} y2={y} />
        ))}
        {bars.map(({ label, parts }, index) => (
          <Column key={label} {...{ parts, fills, step, most }} x={index * step} />
        ))}
      </svg>
      <div dir="ltr" className="mt-1.5 flex justify-between text-xs text-soft">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </div>
    </figure>
  );
}

type ColumnProps = Pick<Bar, "parts"> &
  Pick<ChartProps, "fills"> & { x: number; step: number; most: number };

function Column({ parts, fills, x, step, most }: ColumnProps) {
  const gap = step > 8 ? step * 0.2 : step * 0.1;
  return parts.map((part, index) => {
    const [below, own] = [sumOf(parts.slice(0, index)), part].map((of) => (of / most) * height);
    const y = height - below! - own!;
    return (
      <rect
        key={fills[index]}
        className={fills[index]}
        {...{ x: x + gap / 2, y, width: step - gap, height: own }}
      />
    );
  });
}

const sumOf = (parts: readonly number[]) => parts.reduce((sum, part) => sum + part, 0);

/** Rounds up, for example to 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, or 20. */
const roundUp = (value: number) => {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value)!;
};
