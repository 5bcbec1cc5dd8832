import { drawIdenticon, identiconSide } from "executable-address-element/page";
import { useMemo } from "react";

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
  // The same elements are not compared again, which would slow a phone each second.
  const squares = useMemo(
    () => drawIdenticon(address).map((path, at) => <path key={at.toString()} {...path} />),
    [address],
  );
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${identiconSide} ${identiconSide}`}
      shapeRendering="crispEdges"
      className={isInline ? "identicon identicon-inline" : "identicon"}
    >
      {squares}
    </svg>
  );
}
