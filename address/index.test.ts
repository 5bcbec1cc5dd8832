import assert from "node:assert/strict";
import { test } from "node:test";
import * as library from "./index.ts";

test("exports are these and no others", () => {
  assert.deepEqual(Object.keys(library), [
    "InvalidError",
    "batchSelector",
    "decodeExecutions",
    "decodeTerms",
    "deriveAddress",
    "drawSalt",
    "encodeBalanceOf",
    "encodeCall",
    "encodeExecution",
    "encodeNewIntent",
    "encodeTerms",
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
    "recoverSelector",
    "rescueSelector",
    "termsBytesMax",
    "toHex",
    "vaultCodeBytes",
    "verifyRecord",
    "zeroAddress",
  ]);
});
