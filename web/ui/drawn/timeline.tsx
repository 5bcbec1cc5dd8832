import type { ReactNode } from "react";
import { Shapes } from "./shapes.tsx";
import { type Moment, timelineRem, timelineShapes } from "./timeline-shapes.ts";

/**
 * - `said`: the full date and time, or the block number
 * - `away`: the time between the moment and now, for example "in 2 hours"
 * - `by`: a link to the transaction, if the moment is a payment
 */
export type SaidMoment = Moment & {
  name: string;
  amount?: string;
  said: string;
  away?: string;
  by?: ReactNode;
};

type TimelineProps = { label: string; moments: readonly SaidMoment[]; dir: "ltr" | "rtl" };

/**
 * Shows moments on a timeline. Also contains an ordered list of the moments, for screen readers and
 * copying.
 */
export function Timeline({ label, moments, dir }: TimelineProps) {
  const nameOf = (is: "now" | "end") => moments.find((moment) => moment.is === is)!.name;
  const labels = { now: nameOf("now"), end: nameOf("end") };
  return (
    <div className="timeline">
      <svg aria-hidden="true" width="100%" height={`${timelineRem}rem`}>
        <Shapes of={timelineShapes(moments, labels, dir)} />
      </svg>
      <ol aria-label={label}>
        {moments
          .toSorted((one, other) => one.seconds - other.seconds)
          .map(({ name, amount, said, away, by, is = "past" }, at) => (
            <li
              key={at.toString()}
              className={`timeline-${is}`}
              aria-current={is === "now" ? "time" : undefined}
            >
              <b>
                <bdi>{name}</bdi>
                {amount && (
                  <>
                    {" "}
                    <bdi dir="ltr">{amount}</bdi>
                  </>
                )}
              </b>{" "}
              <bdi>{said}</bdi> {away && <bdi className="text-soft">{away}</bdi>}
              {by && <p className="text-soft">{by}</p>}
            </li>
          ))}
      </ol>
    </div>
  );
}
