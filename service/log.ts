// The service's log: JSON lines on stdout. Of every URL only the origin is written, also within an
// error: an RPC's path or query, and a database's user, hold secrets.

import { setTimeout as sleep } from "node:timers/promises";
import { type DestinationStream, type Logger, pino } from "pino";

/** Up to what cannot stand in a URL, or in a JSON string that holds one. */
const urlPattern = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s"'`\\<>|(){}]+)/gi;

/** `text` with every URL in it cut down to scheme, host and port. */
export const originsOnly = (text: string): string =>
  text.replace(urlPattern, (_, scheme: string, rest: string) => {
    const authority = rest.split(/[/?#,]/, 1)[0] as string;
    return `${scheme}${authority.slice(authority.lastIndexOf("@") + 1)}`;
  });

/** @param destination stdout where it is left out */
export function openLog(
  options: { level: string; role: string; worker?: number },
  destination?: DestinationStream,
): Logger {
  const { level, ...base } = options;
  const settings = { level, base, hooks: { streamWrite: originsOnly } };
  return destination ? pino(settings, destination) : pino(settings);
}

/** So long a process that ends waits for somebody to read its log. */
const unreadMsMax = 1_000;

/**
 * Ends the process once its log is written. Left to itself pino writes the rest as the process
 * exits, and where the reader is gone it tries that for ever.
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
