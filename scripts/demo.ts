// What `npm start` leaves for `npm run pay`: where things are, and the demo account's credentials.

import { join } from "node:path";

export type Demo = { baseUrl: string; rpcUrl: string; apiKey: string; clientId: string };

/** Readable by its owner alone. */
export const demoFile = (dataDir: string) => join(dataDir, "demo.json");
