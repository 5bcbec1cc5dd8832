// Reads and verifies records in a thread of its own: that is half of a look-up.

import { parentPort, workerData } from "node:worker_threads";
import type { Hex } from "executable-address";
import { newWasmKeccak } from "executable-address/keccak-wasm";
import { connect } from "../../store/connect.ts";
import { type Packed, unpack } from "../../store/packed.ts";
import { termsReader } from "../../store/read-together.ts";
import { verifiedText } from "./verified.ts";

/** `file`: SQLite's, to read the terms from; without it they come with their addresses. */
export type VerifyData = { factory: Hex; file: string | undefined };

/** Of each record its text; null where there is none to serve, for the asker to find out why. */
export type Answer = (string | null)[];

const { factory, file } = workerData as VerifyData;
const parts = { factory, keccak: newWasmKeccak() };
const read = file === undefined ? undefined : termsReader(connect(file));

function textOf(address: Buffer, terms: Buffer | undefined): string | null {
  try {
    return terms ? verifiedText(address, terms, parts) : null;
  } catch {
    return null;
  }
}

function answer(records: Packed): Answer {
  const rows = unpack(records);
  try {
    const held = read?.(rows.map(({ address }) => address));
    return rows.map(({ address, terms }, index) => textOf(address, held ? held[index] : terms));
  } catch {
    return rows.map(() => null);
  }
}

parentPort?.on("message", (records: Packed) => parentPort?.postMessage(answer(records)));
