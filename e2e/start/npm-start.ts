// Starts `npm start` as a separate process for its tests.

import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { freePort } from "executable-address-contracts/anvil";
import { untilPrinted } from "../../scripts/child-process.ts";

const root = resolve(import.meta.dirname, "../..");

/** Returns environment variables with free ports and `dataDir`. */
export const environment = async (dataDir: string) => ({
  ...process.env,
  PORT: String(await freePort()),
  CHAIN_PORT: String(await freePort()),
  DATA_DIR: dataDir,
});

/** The first start builds the pages, which takes minutes on a busy machine. */
const startMsMax = 300_000;

/** Starts the program like `npm start`, and waits until it prints its output or exits. */
export async function start(env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [join(root, "scripts/run.js"), "scripts/start.ts"], {
    env,
  });
  const said = await untilPrinted(child, "Press Ctrl-C to stop", startMsMax);
  return { child, said };
}

/** Returns whether the event stream reports that the address was executed. */
export async function executedAt(events: string): Promise<boolean> {
  const { body } = await fetch(events);
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body!) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes('"state":"executed"')) return true;
  }
  return false;
}
