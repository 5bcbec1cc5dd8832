// npm run serve: builds the pages and starts the service, for operators.

import { buildPages } from "./pages.ts";

try {
  const isExecutor = process.env.ROLE === "executor" || process.argv.includes("--from-mirror");
  if (!isExecutor) buildPages();
  await import("../service/main.ts");
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
