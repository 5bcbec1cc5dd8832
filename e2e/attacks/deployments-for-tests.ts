// The service as it is deployed: one server on SQLite, or two on one PostgreSQL. Attacks run on
// both, and of two servers each is asked in turn: what is bounded for all is bounded over both.

import { startApp, type TestApp } from "../../service/http/app-for-tests.ts";
import { startPostgres } from "../../service/store/postgres-for-tests.ts";

export const deployments = ["one server on SQLite", "two servers on one PostgreSQL"] as const;

export type Deployment = {
  servers: TestApp[];
  /** Each of them in turn. */
  next(): TestApp;
  close(): Promise<void>;
};

export async function startDeployment(
  kind: (typeof deployments)[number],
  options: Parameters<typeof startApp>[0] = {},
): Promise<Deployment> {
  if (kind === "one server on SQLite") {
    const server = await startApp(options);
    return { servers: [server], next: () => server, close: server.close };
  }
  const postgres = await startPostgres();
  const servers: TestApp[] = [];
  for (let at = 0; at < 2; at++) {
    servers.push(await startApp({ ...options, databaseUrl: postgres.url }));
  }
  let turn = 0;
  return {
    servers,
    next: () => servers[turn++ % servers.length]!,
    async close() {
      for (const server of servers) await server.close();
      await postgres.stop();
    },
  };
}
