// Records every statement that this process sends to its databases, including the statements of
// libraries. Intercepts the functions of the database drivers and the messages to SQLite's thread.

import { Worker } from "node:worker_threads";
import Database from "better-sqlite3";
import pg from "pg";

/**
 * A recorded statement. `text` and `values` are from the statement's last execution. `ms` contains
 * the duration of each execution.
 */
export type Seen = { text: string; values: unknown[]; ms: number[] };

/**
 * Starts to record statements, also for databases that are opened later. Returns the recorded
 * statements by shape.
 */
export function watchStatements(): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  // Caches the result of `shapeOf` for each statement. For a long statement, `shapeOf` takes
  // milliseconds, which must not be measured.
  const shapes = new Map<string, string>();
  const keep = (text: string, values: unknown[], ms: number) => {
    const key = shapes.get(text) ?? shapeOf(text);
    shapes.set(text, key);
    const held = seen.get(key) ?? { text, values, ms: [] };
    seen.set(key, held);
    Object.assign(held, { text, values });
    held.ms.push(ms);
  };
  watchSqlite(keep);
  watchThreads(keep);
  watchPostgres(keep);
  return seen;
}

type Keep = (text: string, values: unknown[], ms: number) => void;

/**
 * Returns the shape of a statement. Statements that differ only in the length of a list have the
 * same shape.
 */
const shapeOf = (text: string) =>
  text
    .replace(/\s+/g, " ")
    .replace(/\$[0-9]+/g, "?")
    .replace(/\(\?(, \?)*\)(, \(\?(, \?)*\))*/g, "(?…)")
    .replace(/\(\("account_id" = \? and "address" = \?\)( or \(.*?\))*\)/g, "(key or …)");

function watchSqlite(keep: Keep): void {
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function prepared(this: Database.Database, text: string) {
    const statement = prepare.call(this, text) as Database.Statement;
    for (const name of ["all", "get", "run"] as const) {
      const own = statement[name] as (...values: unknown[]) => unknown;
      Object.defineProperty(statement, name, {
        value: (...values: unknown[]) => {
          const began = performance.now();
          try {
            return own.apply(statement, values);
          } finally {
            keep(text, values.flat(), performance.now() - began);
          }
        },
      });
    }
    return statement;
  } as typeof prepare;
}

/**
 * Records the statements of SQLite's thread. Measures the time from the query to its result. The
 * calling thread is not blocked during this time.
 */
function watchThreads(keep: Keep): void {
  const { postMessage } = Worker.prototype;
  const pendingOf = new WeakMap<Worker, (() => void)[]>();
  Worker.prototype.postMessage = function posted(this: Worker, ...args: unknown[]) {
    const [message] = args as [{ sql?: string; parameters?: unknown[] }];
    if (message.sql !== undefined) {
      const { sql, parameters = [] } = message;
      const pending = pendingOf.get(this) ?? [];
      if (!pendingOf.has(this)) {
        this.on("message", (answers: unknown[]) => {
          for (const done of pending.splice(0, answers.length)) done();
        });
      }
      pendingOf.set(this, pending);
      const began = performance.now();
      pending.push(() => keep(sql, parameters, performance.now() - began));
    }
    return (postMessage as (...args: unknown[]) => void).apply(this, args);
  } as typeof postMessage;
}

/**
 * Records PostgreSQL's statements. Measures the time from the query to its result. The calling
 * thread is not blocked during this time.
 */
function watchPostgres(keep: Keep): void {
  const prototype = pg.Client.prototype as unknown as Record<string, unknown>;
  const query = prototype.query as (...args: unknown[]) => unknown;
  prototype.query = function watched(this: pg.Client, ...args: unknown[]) {
    const [first] = args;
    const { text, values } =
      typeof first === "string"
        ? { text: first, values: Array.isArray(args[1]) ? args[1] : [] }
        : (first as { text: string; values?: unknown[] });
    const began = performance.now();
    const record = () => keep(text, values ?? [], performance.now() - began);
    const last = args.at(-1);
    if (typeof last === "function") {
      args[args.length - 1] = (...answer: unknown[]) => {
        record();
        last(...answer);
      };
      return query.apply(this, args);
    }
    const answer = query.apply(this, args) as Promise<unknown>;
    return answer.finally(record);
  };
}
