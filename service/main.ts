// The program. Reads the configuration, and then starts the configured roles or several workers.
// The code of roles and workers is loaded afterwards. An invalid setting is therefore reported
// immediately.

import cluster from "node:cluster";
import { parseArgs } from "node:util";
import { readConfig } from "./config.ts";
import { openLog, originsOnly } from "./log.ts";
import { explainStartupError } from "./roles/startup-error.ts";

try {
  const config = readConfig({ ...process.env, ...flagsOf(process.argv.slice(2)) });
  const worker = cluster.worker && { worker: cluster.worker.id };
  const log = openLog({ level: config.logLevel, role: config.role, ...worker });
  const run = async () => {
    if (config.workers > 1 && cluster.isPrimary) {
      const { runWorkers } = await import("./roles/workers/workers.ts");
      return runWorkers(import.meta.filename, config, log);
    }
    const { startRoles } = await import("./roles/start.ts");
    return startRoles(config, log);
  };
  await run().catch((error) => {
    throw new Error(explainStartupError(error, config), { cause: error });
  });
} catch (error) {
  process.stderr.write(`${originsOnly((error as Error).message)}\n`);
  process.exit(1);
}

/**
 * Reads the option `--from-mirror URL`, which can be repeated. With this option, the program runs
 * only an executor for the addresses in these mirrors.
 */
function flagsOf(args: string[]): NodeJS.ProcessEnv {
  const options = { "from-mirror": { type: "string", multiple: true } } as const;
  const mirrors = parseArgs({ args, options }).values["from-mirror"];
  return mirrors ? { ROLE: "executor", EXECUTOR_MIRRORS: mirrors.join(",") } : {};
}
