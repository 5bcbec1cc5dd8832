// An open-loop load generator: it sends create requests at a fixed rate, regardless of responses.
// Runs in a separate process beside the servers.

import { fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * HTTP requests as text. `saltAt` is the position of a salt of 64 hex digits. Each request
 * increments the salt.
 */
type Stream = {
  requests: { text: string; saltAt?: number }[];
  perSecond: number;
  /** The salt of the first request. */
  firstSalt: number;
};

/** Each port receives the same number of requests. */
export type Job = { ports: number[]; ms: number; streams: Record<string, Stream> };

/**
 * Sorted latencies in milliseconds. A latency starts at the request's scheduled time, so it
 * includes delays of the sender.
 */
type Responses = { byStatus: Record<number, number[]>; lateMs: number[]; unanswered: number };
export type Outcome = Record<string, Responses>;

export const at = (sorted: readonly number[], part: number): number =>
  sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN;

/** Starts the load generator. `run` sends the requests of a job, and `close` ends the process. */
export function openLoad() {
  const child = fork(import.meta.filename, ["load"]);
  return {
    async run(job: Job): Promise<Outcome> {
      child.send(job);
      const [outcome] = await once(child, "message");
      return outcome as Outcome;
    },
    close() {
      if (child.connected) child.disconnect();
    },
  };
}

const socketsMax = 4_000;
/** A request without a response after this time counts as unanswered. */
const patienceMs = 3_000;
const saltDigits = 12;
const tickMs = 1;

/** The idle connections by port. The next run reuses these connections, as real clients do. */
const idleAt = new Map<number, Socket[]>();
let open = 0;
let turn = 0;

async function run({ ports, ms, streams }: Job): Promise<Outcome> {
  const outcome: Outcome = {};
  const pending = new Set<Promise<void>>();
  const start = performance.now();

  const connected = (port: number, idle: Socket[]) => {
    open++;
    const socket = connect(port, "127.0.0.1").setNoDelay();
    socket.on("error", () => {});
    socket.once("close", () => {
      open--;
      if (idle.includes(socket)) idle.splice(idle.indexOf(socket), 1);
    });
    return socket;
  };
  const ask = (name: string, bytes: Buffer, dueAt: number) => {
    const responses = outcome[name]!;
    responses.lateMs.push(performance.now() - dueAt);
    const port = ports[turn++ % ports.length]!;
    const idle = idleAt.get(port) ?? [];
    idleAt.set(port, idle);
    const socket = idle.pop() ?? (open < socketsMax ? connected(port, idle) : undefined);
    if (!socket) return void responses.unanswered++;
    const answered = exchange(socket, bytes).then(
      (status) => {
        if (!socket.destroyed) idle.push(socket);
        responses.byStatus[status] ??= [];
        responses.byStatus[status].push(performance.now() - dueAt);
      },
      () => void responses.unanswered++,
    );
    pending.add(answered);
    answered.finally(() => pending.delete(answered));
  };

  await Promise.all(
    Object.entries(streams).map(async ([name, { requests, perSecond, firstSalt }]) => {
      outcome[name] = { byStatus: {}, lateMs: [], unanswered: 0 };
      const templates = requests.map(({ text, saltAt }) => ({ bytes: Buffer.from(text), saltAt }));
      let sent = 0;
      while (performance.now() - start < ms) {
        const due = Math.floor(((performance.now() - start) / 1000) * perSecond);
        for (; sent < due; sent++) {
          const { bytes, saltAt } = templates[sent % templates.length]!;
          ask(name, salted(bytes, saltAt, firstSalt + sent), start + (sent / perSecond) * 1000);
        }
        await sleep(tickMs);
      }
    }),
  );
  await Promise.all(pending);
  for (const { byStatus, lateMs } of Object.values(outcome)) {
    for (const times of [lateMs, ...Object.values(byStatus)]) times.sort((a, b) => a - b);
  }
  return outcome;
}

function salted(bytes: Buffer, saltAt: number | undefined, number: number): Buffer {
  if (saltAt === undefined) return bytes;
  const own = Buffer.from(bytes);
  own.write(number.toString(16).padStart(saltDigits, "0"), saltAt + 64 - saltDigits, "latin1");
  return own;
}

/**
 * Sends a request and returns the response's status. Assumes that the response has a
 * Content-Length.
 */
function exchange(socket: Socket, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let missing = 0;
    let status = 0;
    const end = (error?: Error) => {
      clearTimeout(late);
      socket.off("data", read).off("close", closed);
      if (error) {
        socket.destroy();
        reject(error);
      } else resolve(status);
    };
    const read = (chunk: Buffer) => {
      if (status === 0) {
        const head = chunk.indexOf("\r\n\r\n");
        const text = chunk.toString("latin1", 0, head);
        status = Number(text.slice(9, 12));
        missing = head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      }
      missing -= chunk.length;
      if (missing <= 0) end();
    };
    const closed = () => end(new Error("the server hung up"));
    const late = setTimeout(() => end(new Error("no answer")), patienceMs);
    socket.on("data", read).on("close", closed);
    socket.write(bytes);
  });
}

if (process.argv[2] === "load") {
  process.once("disconnect", () => process.exit());
  process.on("message", async (job: Job) => process.send!(await run(job)));
}
