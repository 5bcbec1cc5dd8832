import { useMemo } from "react";
import { encode } from "uqr";

/** Dark on white in either theme: many scanners read nothing else. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => draw(text), [text]);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className="size-52 flex-none self-center rounded-lg border border-line sm:self-start"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** One path of unit squares, with the quiet zone of four that ISO/IEC 18004 asks for. */
const draw = (text: string) => {
  const { size, data } = encode(text, { ecc: "M", border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((on, x) => (on ? `M${x} ${y}h1v1h-1z` : [])));
  return { size, path: path.join("") };
};
