// Serves webhook endpoints in a separate process. The first segment of the URL path selects the
// behavior. GET /arrivals returns the arrival time of each event at each path: { path, eventId,
// atMs }.

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const came: { path: string; eventId: string; atMs: number }[] = [];
const counts = new Map<string, number>();

const take = (response: ServerResponse) => response.writeHead(204).end();
const hang = () => {};
/** Sends a few bytes at intervals until the client disconnects. */
async function drip(response: ServerResponse) {
  response.writeHead(200);
  while (!response.destroyed) {
    response.write(".");
    await sleep(200);
  }
}

const answers: Record<string, (response: ServerResponse, nth: number) => unknown> = {
  good: take,
  new: take,
  slow: async (response) => {
    await sleep(1_200);
    take(response);
  },
  hang,
  drip,
  fail: (response) => response.writeHead(500).end(),
  earn: (response, nth) => (nth < 3 ? take(response) : hang()),
  flip: (response, nth) => (nth % 4 === 3 ? hang() : take(response)),
};

const server = createServer((request, response) => {
  const path = request.url!;
  if (path === "/arrivals") return response.end(JSON.stringify(came.splice(0)));
  const [, kind = ""] = path.split("/");
  const nth = counts.get(path) ?? 0;
  counts.set(path, nth + 1);
  came.push({ path, eventId: String(request.headers["webhook-id"]), atMs: Date.now() });
  request.resume().once("end", () => answers[kind]!(response, nth));
});
server.keepAliveTimeout = 1;
server.listen(0, "127.0.0.1", () => {
  process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
