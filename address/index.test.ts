import assert from "node:assert/strict";
import { test } from "node:test";
import * as library from "./index.ts";

test("exports are these and no others", () => {
  assert.deepEqual(Object.keys(library), [
    "InvalidError",
    "decodeExecutions",
    "decodeTerms",
    "deriveAddress",
    "drawSalt",
    "encodeCall",
    "encodeExecution",
    "encodeNewIntent",
    "encodeTerms",
    "executeBatchSelector",
    "executeSelector",
    "factoryAddress",
    "findCautions",
    "formatAddress",
    "fromHex",
    "initCodePrefix",
    "keccak256",
    "makeRecord",
    "parseAddress",
    "parseIntent",
    "parseJson",
    "termsBytesMax",
    "toHex",
    "verifyRecord",
  ]);
});
