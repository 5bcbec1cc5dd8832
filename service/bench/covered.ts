// Starts V8's precise coverage. files.ts loads this file into the measured process. The parent
// process can send a message to request the source files. The reply lists each file with a function
// that ran since the previous message.

import { Session } from "node:inspector/promises";
import { isMainThread } from "node:worker_threads";

const session = new Session();
if (isMainThread) {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  process.on("message", async () => process.send?.(await takeFiles()));
  process.channel?.unref();
}

/**
 * Returns the source files of service/ and address/ in which a function ran since the last call.
 * Excludes service/bench/ and service/testing/.
 */
export async function takeFiles(): Promise<string[]> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return (
    result
      .filter(({ url }) => /\/(service|address)\/(?!bench\/|testing\/)/.test(url))
      // Excludes dependencies that have a folder `service` or `address`, such as utils/address in
      // viem.
      .filter(({ url }) => !url.includes("/node_modules/"))
      .filter(({ functions }) => functions.some(({ ranges }) => ranges[0]!.count > 0))
      .map(({ url }) => url.replace(/^.*?\/(?=(service|address)\/)/, ""))
      .sort()
  );
}
