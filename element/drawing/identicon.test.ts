import assert from "node:assert/strict";
import { test } from "node:test";
import { drawIdenticon } from "./identicon.ts";

/**
 * Outputs of blo 2.0.0. Each entry contains an address, the left half of its picture, and the
 * picture's three colors. The digits 0, 1, and 2 mean background, foreground, and spot.
 */
const known = [
  [
    "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    "01100101000000102000012010001221",
    ["156 81% 70%", "110 97% 29%", "124 82% 85%"],
  ],
  [
    "0x1111111111111111111111111111111111111111",
    "00121100220210010021112100011010",
    ["66 69% 49%", "157 48% 54%", "20 70% 80%"],
  ],
  [
    "0x5555555555555555555555555555555555555555",
    "01221121101000110112100102200111",
    ["21 65% 56%", "61 94% 85%", "325 53% 53%"],
  ],
] as const;

test("drawIdenticon draws the same picture as wallets", () => {
  for (const [address, cells, colours] of known) {
    const paths = drawIdenticon(address);
    const all = paths.map(({ d }) => d).join("");
    assert.match(all, /^(M\d \dh1v1h-1z){64}$/);
    const fillAt = (x: number, y: number) => paths.find(({ d }) => d.includes(`M${x} ${y}h`))?.fill;
    [...cells].forEach((cell, at) => {
      const [x, y] = [at % 4, Math.floor(at / 4)];
      const fill = `hsl(${colours[Number(cell)]})`;
      assert.deepEqual([fillAt(x, y), fillAt(7 - x, y)], [fill, fill], `${address} ${x} ${y}`);
    });
    assert.deepEqual(drawIdenticon(address.toLowerCase()), paths);
  }
});
