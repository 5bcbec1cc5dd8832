// Converts a startup error to a sentence about what the operator must change.

import type { Config } from "../config.ts";

type SystemError = Error & { code?: string; path?: string; port?: number; errors?: Error[] };

export function explainStartupError(
  error: SystemError,
  config: Pick<Config, "dataDirectory" | "databaseUrl" | "port" | "host" | "metricsPort">,
): string {
  const { code, message } = error;
  if (error.name === "ChainsError") return `CHAINS_FILE ${message}`;
  if (error.name === "LabelsError") return `LABELS_FILE ${message}`;
  if (error.name === "InUseError") {
    return `DATA_DIR ${message}: stop that process, or set DATABASE_URL to run several servers`;
  }
  if (error.name === "OtherFactoryError") {
    const name = config.databaseUrl ? "DATABASE_URL" : `DATA_DIR ${config.dataDirectory}`;
    return `${name} ${message}: use a different database, or run the version that created it`;
  }
  if (code === "EADDRINUSE") {
    const name = error.port === config.metricsPort ? "METRICS_PORT" : "PORT";
    return `${name} ${error.port} is already in use: stop the other program, or change ${name}`;
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return config.databaseUrl && code === "ENOTFOUND"
      ? `DATABASE_URL: unknown host: ${message}`
      : `HOST ${config.host} is not an address of this machine`;
  }
  if (code === "EACCES" && error.port !== undefined) {
    return `PORT ${error.port} requires more privileges: set a port above 1023`;
  }
  if (/^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR|EEXIST)$/.test(code ?? "") || isSqliteOpen(code)) {
    return `DATA_DIR ${config.dataDirectory} is not writable: ${message}`;
  }
  if (config.databaseUrl && isPostgres(error)) {
    return `DATABASE_URL: cannot connect to PostgreSQL: ${firstMessage(error)}`;
  }
  return message;
}

const isSqliteOpen = (code: string | undefined) =>
  code === "SQLITE_CANTOPEN" || code === "SQLITE_READONLY" || code === "SQLITE_NOTADB";

/**
 * Returns whether the error is from PostgreSQL: a failed connection, or a five-character SQLSTATE
 * code.
 */
const isPostgres = ({ code }: SystemError) =>
  /^(ECONNREFUSED|ETIMEDOUT|[0-9A-Z]{5})$/.test(code ?? "");

/**
 * Returns the error's message. A host can have several addresses. If all connections fail, Node's
 * error contains one error per address, but no message. Returns the message of the first of these
 * errors.
 */
const firstMessage = (error: SystemError) => error.message || (error.errors?.[0]?.message ?? "");
