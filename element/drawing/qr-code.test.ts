import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRecord } from "executable-address";
import { sample } from "../../address/test/samples.ts";
import { drawQr } from "./qr-code.ts";

const record = makeRecord(sample);

test("a QR code has an empty margin of four squares", () => {
  const { size, path } = drawQr(record.address);
  const squares = [...path.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x, y]) => [+x!, +y!]);
  assert.ok(squares.length > 100);
  assert.ok(squares.flat().every((at) => at >= 4 && at < size - 4));
});
