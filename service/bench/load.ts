// The load generator, which runs in a separate process. The load generator opens several
// connections, and sends one request at a time on each connection. The load generator uses plain
// sockets, because they need little processor time.

import { connect, type Socket } from "node:net";

export type Job = {
  port: number;
  connections: number;
  ms: number;
  /**
   * The requests to send, repeatedly and in this order. If a request has `saltAt`, each repetition
   * has a new salt of 64 digits at this position.
   */
  requests: { text: string; saltAt?: number }[];
  /** The first salt. */
  firstSalt: number;
};

export type Outcome = {
  answered: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
};

const saltDigits = 12;

process.on("message", async (job: Job) => {
  process.send!(await run(job));
});

async function run({ port, connections, ms, requests, firstSalt }: Job): Promise<Outcome> {
  const templates = requests.map(({ text, saltAt }) => ({ bytes: Buffer.from(text), saltAt }));
  let sent = 0;
  const next = (): Buffer => {
    const { bytes, saltAt } = templates[sent % templates.length]!;
    const number = firstSalt + sent++;
    if (saltAt === undefined) return bytes;
    const own = Buffer.from(bytes);
    own.write(number.toString(16).padStart(saltDigits, "0"), saltAt + 64 - saltDigits, "latin1");
    return own;
  };

  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const latencies: number[] = [];
  const start = performance.now();
  await Promise.all(sockets.map((socket) => exchange(socket, next, start + ms, latencies)));
  const seconds = (performance.now() - start) / 1000;
  for (const socket of sockets) socket.destroy();
  latencies.sort((a, b) => a - b);
  const at = (part: number) => latencies[Math.floor(part * (latencies.length - 1))] ?? 0;
  return {
    answered: latencies.length,
    perSecond: latencies.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket)).setNoDelay();
    socket.once("error", reject);
  });
}

/** Sends requests on one connection, one after another, until the time `end`. */
function exchange(socket: Socket, next: () => Buffer, end: number, latencies: number[]) {
  return new Promise<void>((resolve, reject) => {
    let begun = 0;
    let missing = 0;
    const send = () => {
      begun = performance.now();
      missing = 0;
      socket.write(next());
    };
    socket.on("data", (chunk: Buffer) => {
      missing = missing === 0 ? answerBytes(chunk) - chunk.length : missing - chunk.length;
      if (missing > 0) return;
      const now = performance.now();
      latencies.push(now - begun);
      if (now >= end) resolve();
      else send();
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the server hung up")));
    send();
  });
}

/** Returns the total size of a response, from the headers in its first chunk. */
function answerBytes(chunk: Buffer): number {
  const head = chunk.indexOf("\r\n\r\n");
  const text = chunk.toString("latin1", 0, head);
  if (!text.startsWith("HTTP/1.1 200")) throw new Error(chunk.toString("latin1", 0, 500));
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  if (length === undefined) throw new Error(`no Content-Length: ${text}`);
  return head + 4 + Number(length);
}
