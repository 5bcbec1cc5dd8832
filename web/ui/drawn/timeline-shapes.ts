// Computes the positions of moments on a timeline. Distances are proportional to the time between
// moments.

import type { Shape } from "./shapes.tsx";

/** A moment on the timeline. `late` marks a payment after the expiry or after the outcome. */
export type Moment = { readonly seconds: number; readonly is?: "now" | "end" | "late" };

/** The minimum fraction of the line that is reserved for moments after `end`. */
const lateShare = 0.08;
/**
 * If a moment is within this distance of an edge, its label is not centered. The edge would cut off
 * a centered label.
 */
const edgePercent = 15;
const line = 20;
const thick = 4;

export const timelineRem = 2.5;

/** @param labels the text above the moment `now`, and the text below the moment `end` */
export function timelineShapes(
  moments: readonly Moment[],
  labels: { readonly now: string; readonly end: string },
  dir: "ltr" | "rtl",
): Shape[] {
  const times = moments.map(({ seconds }) => seconds);
  const timeOf = (is: Moment["is"]) => moments.find((moment) => moment.is === is)!.seconds;
  const [first, last, now, end] = [
    Math.min(...times),
    Math.max(...times),
    timeOf("now"),
    timeOf("end"),
  ];
  const span = Math.max(last - first, (end - first) / (1 - lateShare), 1);
  const percent = (seconds: number) => ((seconds - first) / span) * 100;
  const x = (seconds: number) => `${dir === "rtl" ? 100 - percent(seconds) : percent(seconds)}%`;
  const stretch = (name: string, from: number, to: number): Shape => {
    const start = dir === "rtl" ? to : from;
    const width = `${percent(to) - percent(from)}%`;
    return ["rect", { class: name, x: x(start), y: line - thick / 2, width, height: thick }];
  };
  const mark = (name: string, seconds: number, y1: number, y2: number): Shape => [
    "line",
    { class: name, x1: x(seconds), x2: x(seconds), y1, y2 },
  ];
  const label = (text: string, seconds: number, y: number): Shape => {
    const at = percent(seconds);
    const anchor = at < edgePercent ? "start" : at > 100 - edgePercent ? "end" : "middle";
    return ["text", { x: x(seconds), y, "text-anchor": anchor }, text];
  };
  return [
    stretch("timeline-open", first, first + span),
    stretch("timeline-past", first, Math.min(now, end)),
    stretch("timeline-late", end, first + span),
    ...moments
      .filter(({ is }) => is !== "now" && is !== "end")
      .map(({ seconds, is }): Shape => {
        const name = is === "late" ? "timeline-dot timeline-dot-late" : "timeline-dot";
        return ["circle", { class: name, cx: x(seconds), cy: line, r: 5 }];
      }),
    mark("timeline-end", end, line - 7, line + 7),
    mark("timeline-now", now, line - 7, line + 7),
    label(labels.now, now, 9),
    label(labels.end, end, line + 19),
  ];
}
