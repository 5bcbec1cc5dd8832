import { encode } from "uqr";

/**
 * Returns a QR code of `text` as an SVG path of unit squares. The view box is `size` wide and high.
 * The code includes the margin of four squares that ISO/IEC 18004 requires.
 */
export function drawQr(text: string): { size: number; path: string } {
  const { size, data } = encode(text, { ecc: "M", border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((on, x) => (on ? `M${x} ${y}h1v1h-1z` : [])));
  return { size, path: path.join("") };
}
