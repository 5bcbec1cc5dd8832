import { bloImage } from "blo";
import { useMemo } from "react";

const half = 4;

/**
 * The picture that wallets and explorers draw for an address, against one that was exchanged on the
 * clipboard: eight by eight squares, the right half the left one's mirror. It says nothing that the
 * address beside it does not, so it is not read out.
 */
export function Identicon({ address }: { address: string }) {
  const { colours, cells } = useMemo(() => {
    const [data, palette] = bloImage(address as `0x${string}`);
    const colours = palette.map(
      ([hue, saturation, light]) => `hsl(${hue} ${saturation}% ${light}%)`,
    );
    return { colours, cells: [...data] };
  }, [address]);
  return (
    <svg aria-hidden="true" viewBox="0 0 8 8" shapeRendering="crispEdges" className="identicon">
      <rect width="8" height="8" fill={colours[0]} />
      {cells.flatMap((cell, at) => {
        if (cell === 0) return [];
        const [x, y] = [at % half, Math.floor(at / half)];
        return [x, 7 - x].map((column) => (
          <rect key={`${column} ${y}`} x={column} y={y} width="1" height="1" fill={colours[cell]} />
        ));
      })}
    </svg>
  );
}
