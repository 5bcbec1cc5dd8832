// Verifies records in a thread of its own: that, and spelling them out, is a third of a look-up.

import { parentPort, workerData } from "node:worker_threads";
import type { Hex } from "executable-address";
import { newWasmKeccak } from "executable-address/keccak-wasm";
import { type Packed, unpack } from "../store/packed.ts";
import type { CorruptError } from "../store/store.ts";
import { verifiedText } from "./verified.ts";

/** Of a record: its text, or the fault for which it is not served. */
export type Answer = string | CorruptError;

const parts = { factory: (workerData as { factory: Hex }).factory, keccak: newWasmKeccak() };

function answer({ address, terms }: { address: Buffer; terms: Buffer }): Answer {
  try {
    return verifiedText(address, terms, parts);
  } catch (error) {
    return error as CorruptError;
  }
}

parentPort?.on("message", (records: Packed) => {
  parentPort?.postMessage(unpack(records).map(answer));
});
