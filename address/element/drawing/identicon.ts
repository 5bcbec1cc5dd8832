// The picture that wallets and explorers draw for an address, which Ethereum's first wallet drew:
// eight by eight squares in three colours, the right half the left one's mirror. Its random numbers
// are a xorshift of 128 bits that the address seeds.

type Square = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly fill: string;
};

/** The length of a side, in squares. */
export const identiconSide = 8;

/** All 64 squares. @param address in any letter case */
export function drawIdenticon(address: string): Square[] {
  const random = randomOf(address.toLowerCase());
  const colour = () => {
    const hue = Math.floor(random() * 360);
    const saturation = Math.floor(40 + random() * 60);
    const light = Math.floor((random() + random() + random() + random()) * 25);
    return `hsl(${hue} ${saturation}% ${light}%)`;
  };
  const [front, ground, spot] = [colour(), colour(), colour()];
  const fills = [ground, front, spot];
  const squares: Square[] = [];
  for (let y = 0; y < identiconSide; y++) {
    for (let x = 0; x < identiconSide / 2; x++) {
      const fill = fills[Math.floor(random() * 2.3)]!;
      for (const at of [x, identiconSide - 1 - x])
        squares.push({ x: at, y, width: 1, height: 1, fill });
    }
  }
  return squares;
}

/** Each from 0 up to 1. */
function randomOf(seed: string): () => number {
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
