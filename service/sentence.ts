// Makes of a failed start one sentence for the operator that says what to change, without a stack.

import type { Config } from "./config.ts";

type SystemError = Error & { code?: string; path?: string; port?: number; errors?: Error[] };

export function sentenceOf(
  error: SystemError,
  config: Pick<Config, "dataDirectory" | "databaseUrl" | "port" | "host" | "metricsPort">,
): string {
  const { code, message } = error;
  if (error.name === "ChainsError") return `CHAINS_FILE ${message}`;
  if (error.name === "LabelsError") return `LABELS_FILE ${message}`;
  if (error.name === "InUseError") {
    return `DATA_DIR ${message}: stop that, or set DATABASE_URL for several`;
  }
  if (error.name === "OtherFactoryError") {
    const name = config.databaseUrl ? "DATABASE_URL" : `DATA_DIR ${config.dataDirectory}`;
    return `${name} ${message}: name another, or run the version it was made with`;
  }
  if (code === "EADDRINUSE") {
    const name = error.port === config.metricsPort ? "METRICS_PORT" : "PORT";
    return `${name} ${error.port} is taken by another program; stop that, or set another ${name}`;
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return config.databaseUrl && code === "ENOTFOUND"
      ? `DATABASE_URL names a host that is not known: ${message}`
      : `HOST ${config.host} is not an address of this machine`;
  }
  if (code === "EACCES" && error.port !== undefined) {
    return `PORT ${error.port} needs more rights than this user has; set one above 1023`;
  }
  if (/^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR|EEXIST)$/.test(code ?? "") || isSqliteOpen(code)) {
    return `DATA_DIR ${config.dataDirectory} cannot be written: ${message}`;
  }
  if (config.databaseUrl && isPostgres(error)) {
    return `DATABASE_URL: PostgreSQL does not let us in: ${firstMessage(error)}`;
  }
  return message;
}

const isSqliteOpen = (code: string | undefined) =>
  code === "SQLITE_CANTOPEN" || code === "SQLITE_READONLY" || code === "SQLITE_NOTADB";

/** A refused connection, or a five-character SQLSTATE. */
const isPostgres = ({ code }: SystemError) =>
  /^(ECONNREFUSED|ETIMEDOUT|[0-9A-Z]{5})$/.test(code ?? "");

/** Node bundles the refusals of a name's several addresses, itself without a message. */
const firstMessage = (error: SystemError) => error.message || (error.errors?.[0]?.message ?? "");
