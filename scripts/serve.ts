// npm run serve: the service as an operator runs it, with its pages built before it listens.

import { buildPages } from "./pages.ts";

try {
  if (process.env.ROLE !== "executor") buildPages();
  await import("../service/main.ts");
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
