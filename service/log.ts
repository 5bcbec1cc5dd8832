// The service's log: JSON lines on stdout. The log contains only the origin of each URL. The rest
// of a URL can contain a key or a password.

import { setTimeout as sleep } from "node:timers/promises";
import { type DestinationStream, type Logger, pino } from "pino";

/**
 * Matches a URL in plain text or in a JSON string. A URL can contain quotes and backslashes, which
 * have a backslash in a JSON string. The time is linear in the length of the text, because the
 * length of the scheme is limited.
 */
const urlPattern = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"\\]*(?:\\["\\][^\s"\\]*)*)/gi;

/** Matches a host and a port. The host is a name, or an IPv6 address in brackets. */
const hostPattern = /^(?:\[[\da-f:.]+\]|[\p{L}\p{N}._-]+)(?::\d+(?![\p{L}\p{N}]))?/iu;

/** Returns `text` with each URL shortened to scheme, host, and port. */
export const originsOnly = (text: string): string =>
  text.replace(urlPattern, (_, scheme: string, rest: string) => {
    const end = endOf(rest);
    const authority = rest.slice(0, rest.length - end.length).split(/[/?#]/, 1)[0] as string;
    const host = authority.slice(authority.lastIndexOf("@") + 1);
    return `${scheme}${hostPattern.exec(host)?.[0] ?? ""}${end}`;
  });

/** Returns the punctuation after a URL, such as a closing parenthesis. */
function endOf(rest: string): string {
  let start = rest.length;
  while (start > 0 && `\\"'\`)>},.:;`.includes(rest[start - 1] as string)) start--;
  return rest.slice(start);
}

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
