// Draws the identicon of an address as wallets and block explorers do. The algorithm comes from
// Ethereum's first wallet. An identicon has eight by eight squares in three colors. Its right half
// mirrors the left. The random numbers come from a 128-bit xorshift generator whose seed is the
// address.

/** The attributes of an SVG path that contains all squares of one color. */
type Squares = { readonly d: string; readonly fill: string };

/** The number of squares per side. */
export const identiconSide = 8;

/**
 * Draws the 64 squares as only three paths, because a page shows a dozen identicons.
 * @param address in any letter case
 */
export function drawIdenticon(address: string): Squares[] {
  const random = seedRandom(address.toLowerCase());
  const colour = () => {
    const hue = Math.floor(random() * 360);
    const saturation = Math.floor(40 + random() * 60);
    const light = Math.floor((random() + random() + random() + random()) * 25);
    return `hsl(${hue} ${saturation}% ${light}%)`;
  };
  const [front, ground, spot] = [colour(), colour(), colour()];
  const paths = [ground, front, spot].map((fill) => ({ d: "", fill }));
  for (let y = 0; y < identiconSide; y++) {
    for (let x = 0; x < identiconSide / 2; x++) {
      const path = paths[Math.floor(random() * 2.3)]!;
      for (const at of [x, identiconSide - 1 - x]) path.d += `M${at} ${y}h1v1h-1z`;
    }
  }
  return paths;
}

/** Returns a seeded random number generator. The numbers are at least 0 and less than 1. */
function seedRandom(seed: string): () => number {
  const state = new Int32Array(4);
  for (let at = 0; at < seed.length; at++)
    state[at % 4] = Math.imul(state[at % 4]!, 31) + seed.charCodeAt(at);
  return () => {
    const [first, , , last] = state as unknown as [number, number, number, number];
    const mixed = first ^ (first << 11);
    state.copyWithin(0, 1);
    state[3] = last ^ (last >> 19) ^ mixed ^ (mixed >> 8);
    return (state[3]! >>> 0) / 2 ** 31;
  };
}
