import { drawIdenticon, identiconSide } from "executable-address-element/page";
import { useMemo } from "react";

type IdenticonProps = {
  address: string;
  /** Draws the picture as high as the surrounding text. */
  isInline?: boolean;
};

/**
 * Shows an address as a picture. The picture helps users to notice if malware has replaced an
 * address on the clipboard. Screen readers skip the picture, because the address is nearby.
 */
export function Identicon({ address, isInline }: IdenticonProps) {
  // Memoized, because comparing the elements every second would slow down phones.
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
