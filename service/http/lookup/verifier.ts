// Verified texts of records. A few are worked out in this thread; of many that are wanted together
// the verifying thread takes its share, and where SQLite holds them reads them too, so that this
// one is free to read requests and answer. What the other cannot serve, this one looks into again:
// it knows how to say why.

import { Worker } from "node:worker_threads";
import { pack } from "../../store/packed.ts";
import type { Parts } from "../parts.ts";
import { verifiedText } from "./verified.ts";
import type { Answer, VerifyData } from "./verify-worker.ts";

/** Fewer are not worth the way to the other thread and back. */
const groupMin = 5;
/** Sent on at once, or the other thread would wait until a whole turn of requests is read. */
const groupSize = 12;
/** With so many groups before the other thread, this one is the sooner done. */
const groupsAheadMax = 4;

export type Verifier = {
  /**
   * The body of a look-up; undefined where the address is not held.
   * @param address 20 bytes
   * @throws {CorruptError} where the terms held do not give the address back
   */
  textOf(address: Buffer): Promise<string | undefined>;
  close(): Promise<unknown>;
};

type Text = string | undefined;
type Waiting = {
  address: Buffer;
  terms: Uint8Array;
  resolve(text: Text | Promise<Text>): void;
};

/** Terms that are read by whichever thread does the work. */
const unread = new Uint8Array();

export function startVerifier(
  parts: Pick<Parts, "factory" | "keccak" | "log" | "store">,
): Verifier {
  const { factory, log, store } = parts;
  let worker: Worker | undefined;
  let hasEnded = false;
  let arriving: Waiting[] = [];
  let sent: Waiting[][] = [];

  const textHere = async ({ address, terms }: Waiting): Promise<Text> => {
    const held = terms === unread ? await store.findTerms(address) : terms;
    return held && verifiedText(address, held, parts);
  };
  const workHere = (waiting: Waiting) => waiting.resolve(textHere(waiting));

  const start = () => {
    const data: VerifyData = { factory, file: store.file };
    const started = new Worker(new URL("./verify-worker.ts", import.meta.url), {
      workerData: data,
      execArgv: process.execArgv.filter((arg) => arg.startsWith("--conditions=")),
    });
    started.on("message", (answer: Answer) => {
      sent.shift()?.forEach((waiting, index) => {
        const text = answer[index];
        if (text) waiting.resolve(text);
        else workHere(waiting);
      });
    });
    started.on("error", (err) => {
      log.error({ err }, "the verifying thread has failed; this one does its work");
    });
    started.on("exit", () => {
      hasEnded = true;
      const left = sent.flat();
      sent = [];
      left.forEach(workHere);
    });
    started.unref(); // after `on`: whoever listens for messages holds the program
    return started;
  };
  const flush = () => {
    const group = arriving;
    arriving = [];
    if (group.length < groupMin || sent.length >= groupsAheadMax || hasEnded)
      return group.forEach(workHere);
    worker ??= start();
    const records = pack(group);
    sent.push(group);
    worker.postMessage(records, [records.bytes]);
  };
  const add = (address: Buffer, terms: Uint8Array) =>
    new Promise<Text>((resolve) => {
      if (arriving.length === 0) setImmediate(flush);
      arriving.push({ address, terms, resolve });
      if (arriving.length >= groupSize) flush();
    });

  const readAndAdd = async (address: Buffer) => {
    const terms = await store.findTerms(address);
    return terms && add(address, terms);
  };

  return {
    textOf: store.file === undefined ? readAndAdd : (address) => add(address, unread),
    close: async () => worker?.terminate(),
  };
}
