import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Moment, timelineShapes } from "./timeline-shapes.ts";

const labels = { now: "Now", end: "Expires" };
const drawn = (moments: Moment[], dir: "ltr" | "rtl" = "ltr") => {
  const shapes = timelineShapes(moments, labels, dir);
  return (name: string, attribute: string) =>
    shapes
      .filter(([, { class: of }, text]) => text === name || `${of}`.split(" ").includes(name))
      .map(([, attributes]) => Number.parseFloat(`${attributes[attribute]}`));
};
const open: Moment[] = [{ seconds: 0 }, { seconds: 23, is: "now" }, { seconds: 92, is: "end" }];

describe("the timeline", () => {
  test("the position of each moment is proportional to its time", () => {
    const at = drawn(open);
    assert.deepEqual(at("timeline-dot", "cx"), [0]);
    assert.deepEqual([at("timeline-now", "x1"), at("Now", "x")], [[23], [23]]);
    assert.deepEqual([at("timeline-end", "x1"), at("Expires", "x")], [[92], [92]]);
    assert.deepEqual(at("timeline-past", "width"), [23]);
    assert.deepEqual([at("timeline-late", "x"), at("timeline-late", "width")], [[92], [8]]);
  });

  test("the timeline marks the time after the expiry as late", () => {
    const at = drawn([
      { seconds: 0 },
      { seconds: 60, is: "end" },
      { seconds: 80, is: "late" },
      { seconds: 100, is: "now" },
    ]);
    assert.deepEqual(at("timeline-past", "width"), [60], "nothing was in time after the end");
    assert.deepEqual([at("timeline-late", "x"), at("timeline-late", "width")], [[60], [40]]);
    assert.deepEqual([at("timeline-dot-late", "cx"), at("timeline-now", "x1")], [[80], [100]]);
  });

  test("the timeline runs from right to left for right-to-left languages", () => {
    const at = drawn(open, "rtl");
    assert.deepEqual([at("timeline-dot", "cx"), at("timeline-now", "x1")], [[100], [77]]);
    assert.deepEqual([at("timeline-past", "x"), at("timeline-late", "x")], [[77], [0]]);
  });

  test("the timeline can show a single moment", () => {
    const at = drawn([
      { seconds: 5, is: "now" },
      { seconds: 5, is: "end" },
    ]);
    assert.deepEqual([at("timeline-now", "x1"), at("timeline-end", "x1")], [[0], [0]]);
  });
});
