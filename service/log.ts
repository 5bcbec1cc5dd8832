// The service's log: JSON lines on stdout. The log contains only the origin of each URL. The rest
// of a URL can contain a key or a password.

import { setTimeout as sleep } from "node:timers/promises";
import { type DestinationStream, type Logger, pino } from "pino";

/** Matches a URL in plain text or in a JSON string. */
const urlPattern = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s"'`\\<>|(){}]+)/gi;

/** Returns `text` with each URL shortened to scheme, host, and port. */
export const originsOnly = (text: string): string =>
  text.replace(urlPattern, (_, scheme: string, rest: string) => {
    const authority = rest.split(/[/?#,]/, 1)[0] as string;
    return `${scheme}${authority.slice(authority.lastIndexOf("@") + 1)}`;
  });

/** @param destination by default stdout */
export function openLog(
  options: { level: string; role: string; worker?: number },
  destination?: DestinationStream,
): Logger {
  const { level, ...base } = options;
  const settings = { level, base, hooks: { streamWrite: originsOnly } };
  return destination ? pino(settings, destination) : pino(settings);
}

/** How long the process waits for the log's reader before it exits. */
const unreadMsMax = 1_000;

/**
 * Exits the process after the log has been written. If the process exited earlier, pino would write
 * the rest of the log during the exit. Without a program that reads the log, pino would retry this
 * write forever.
 */
export async function exitLogged(log: Logger, code: number): Promise<void> {
  const stdout = (log as unknown as Record<symbol, SonicBoom>)[pino.symbols.streamSym]!;
  const written = new Promise((resolve) => stdout.once("close", resolve));
  stdout.end();
  await Promise.race([written, sleep(unreadMsMax)]);
  stdout.destroy();
  process.exit(code);
}

type SonicBoom = ReturnType<typeof pino.destination>;
