// Starts the service as operators deploy it: one server on SQLite, or two servers on PostgreSQL.
// Requests alternate between the two servers. So tests can check that limits apply across servers.

import { isLong } from "../../scripts/long.ts";
import { startApp, type TestApp } from "../../service/testing/app.ts";
import { startPostgres, type TestPostgres } from "../../service/testing/postgres.ts";
import { type Server, type ServerOptions, startServer } from "./server.ts";

export const deployments = ["one server on SQLite", "two servers on one PostgreSQL"] as const;

export type Kind = (typeof deployments)[number];

/**
 * In `npm run test:long`, returns both deployments. In `npm test`, returns only the deployment
 * `short`.
 */
export const longOr = (short: Kind): readonly Kind[] => (isLong ? deployments : [short]);

export type Deployment<One = TestApp> = {
  servers: One[];
  /** Returns the servers in turn, one per call. */
  next(): One;
  /** The database that two servers share; undefined for one server on SQLite. */
  postgres: TestPostgres | undefined;
  close(): Promise<void>;
};

/** Starts the servers within the test's process. */
export const startDeployment = (
  kind: Kind,
  options: Parameters<typeof startApp>[0] = {},
): Promise<Deployment> =>
  start(kind, (databaseUrl) => startApp({ ...options, ...(databaseUrl && { databaseUrl }) }));

/** Starts each server as a separate process. */
export const startProcesses = (
  kind: Kind,
  { env, ...options }: ServerOptions = {},
): Promise<Deployment<Server>> =>
  start(kind, (DATABASE_URL) => startServer({ ...options, env: { ...env, DATABASE_URL } }));

async function start<One extends { close(): Promise<void> }>(
  kind: Kind,
  startOne: (databaseUrl?: string) => Promise<One>,
): Promise<Deployment<One>> {
  const count = kind === "one server on SQLite" ? 1 : 2;
  const postgres = count === 1 ? undefined : await startPostgres();
  const servers: One[] = [];
  while (servers.length < count) servers.push(await startOne(postgres?.url));
  let turn = 0;
  return {
    servers,
    next: () => servers[turn++ % count]!,
    postgres,
    async close() {
      for (const server of servers) await server.close();
      await postgres?.stop();
    },
  };
}
