// Keeps what `npm start` leaves for `npm run pay`: where things are, and the demo's credentials.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Credentials = { apiKey: string; clientId: string };
export type Demo = Credentials & { baseUrl: string; rpcUrl: string };

/** Readable by its owner alone. */
export const demoFile = (dataDir: string) => join(dataDir, "demo.json");

/** Undefined where none was written whole. */
export function readDemo(dataDir: string): Demo | undefined {
  try {
    return JSON.parse(readFileSync(demoFile(dataDir), "utf8"));
  } catch {
    return undefined;
  }
}
