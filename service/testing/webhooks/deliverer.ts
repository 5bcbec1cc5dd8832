// Sends webhook deliveries in a separate process, so that tests can kill the process.
//
// Usage: node deliverer.ts STORE [CLOCK_MS [TIMEOUT_MS [POLL_MS]]]

import { pino } from "pino";
import { openStore } from "../../roles/open-store.ts";
import { startDelivery } from "../../webhooks/deliver.ts";
import { sender } from "../../webhooks/send.ts";

const where = process.argv[2]!;
// Opens the database without the server's lock, as an operator's command does. The test already
// holds this lock, and only one process at a time can hold the lock of an SQLite database.
const store = await openStore(
  where.startsWith("postgres")
    ? { databaseUrl: where, dataDirectory: "" }
    : { dataDirectory: where },
  false,
);
startDelivery({
  store,
  send: sender("any", Number(process.argv[4] ?? 2_000)),
  now: () => Date.now() + Number(process.argv[3] ?? 0),
  random: () => 0.5,
  pollMs: Number(process.argv[5] ?? 10),
  log: pino({ level: "silent" }),
});
process.stdout.write("started\n");
