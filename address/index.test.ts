import assert from "node:assert/strict";
import { test } from "node:test";
import * as library from "./index.ts";

test("exports are these and no others", () => {
  assert.deepEqual(Object.keys(library), [
    "InvalidError",
    "batchCalldata",
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
    "encodeTransfer",
    "executeCalldata",
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
    "recoverCalldata",
    "recoverSelector",
    "rescueSelector",
    "termsBytesMax",
    "tipAddress",
    "tipOf",
    "toHex",
    "vaultCodeBytes",
    "verifyRecord",
    "zeroAddress",
  ]);
});
