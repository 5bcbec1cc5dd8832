import { useMemo } from "react";
import { identiconBox, identiconShapes } from "./identicon-shapes.ts";
import { Shapes } from "./shapes.tsx";

type IdenticonProps = {
  address: string;
  /** Draws it as high as the text it stands in. */
  isInline?: boolean;
};

/**
 * An address as a picture, against one that was exchanged on the clipboard. It says nothing that
 * the address beside it does not, so it is not read out.
 */
export function Identicon({ address, isInline }: IdenticonProps) {
  // The same elements are not compared again, which a phone would feel each second.
  const shapes = useMemo(() => <Shapes of={identiconShapes(address)} />, [address]);
  return (
    <svg
      aria-hidden="true"
      viewBox={identiconBox}
      shapeRendering="crispEdges"
      className={isInline ? "identicon identicon-inline" : "identicon"}
    >
      {shapes}
    </svg>
  );
}
