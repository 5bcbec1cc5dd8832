import type { ReactNode } from "react";
import { flowPicture, type Ribbon } from "./flow-shapes.ts";
import { Shapes } from "./shapes.tsx";

export type Stream = Ribbon & { key: string; name: ReactNode; said: string };

type FlowProps = { label: string; from: readonly Stream[]; to: readonly Stream[] };

/** Names and amounts stand in lists beside the drawing: they are read and selected as text. */
export function Flow({ label, from, to }: FlowProps) {
  const { box, rem, shapes } = flowPicture(from, to);
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
