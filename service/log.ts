// The service's log: JSON lines on stdout. Of every URL only the origin is written, also within an
// error: an RPC's path or query, and a database's user, hold secrets.

import { type DestinationStream, type Logger, pino } from "pino";
import { currentTrace } from "./trace/trace.ts";

/** Up to what cannot stand in a URL, or in a JSON string that holds one. */
const urlPattern = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s"'`\\<>|(){}]+)/gi;

/** `text` with every URL in it cut down to scheme, host and port. */
export const originsOnly = (text: string): string =>
  text.replace(urlPattern, (_, scheme: string, rest: string) => {
    const authority = rest.split(/[/?#,]/, 1)[0] as string;
    return `${scheme}${authority.slice(authority.lastIndexOf("@") + 1)}`;
  });

/** Under the names by which collectors join logs to traces. */
function traceFields(): object {
  const trace = currentTrace();
  return trace ? { trace_id: trace.traceId, span_id: trace.spanId } : {};
}

/** @param destination stdout where it is left out */
export function openLog(
  options: { level: string; role: string; worker?: number },
  destination?: DestinationStream,
): Logger {
  const { level, ...base } = options;
  const settings = {
    level,
    base,
    mixin: traceFields,
    hooks: { streamWrite: originsOnly },
  };
  return destination ? pino(settings, destination) : pino(settings);
}
