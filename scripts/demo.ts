// The file in which `npm start` stores the URLs and the demo's credentials for `npm run pay`.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Credentials = { apiKey: string; clientId: string };
export type Demo = Credentials & { baseUrl: string; rpcUrl: string };

/** The path of the file. Only the owner of the file can read it. */
export const demoFile = (dataDir: string) => join(dataDir, "demo.json");

/** Returns undefined if the file is missing or is not valid JSON. */
export function readDemo(dataDir: string): Demo | undefined {
  try {
    return JSON.parse(readFileSync(demoFile(dataDir), "utf8"));
  } catch {
    return undefined;
  }
}
