// A server that uses only node:http, to measure the upper bound. The server parses the body of each
// create request. Every response is the same prepared record, with the length of the service's
// responses.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { factoryAddress, makeRecord } from "executable-address";
import { intentOf } from "./intents.ts";

const answer = Buffer.from(
  JSON.stringify(makeRecord(intentOf(1, 1_900_000_000), { factory: factoryAddress })),
);
const headers = { "Content-Type": "application/json", "Content-Length": answer.length };

const server = createServer((request, response) => {
  if (request.method === "GET") return void response.writeHead(200, headers).end(answer);
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { chainId } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    response.writeHead(chainId === 1 ? 200 : 400, headers).end(answer);
  });
});
server.listen(0, "127.0.0.1", () => {
  process.send!({ port: (server.address() as AddressInfo).port, keys: ["none"] });
});
// The parent requests the processor time before and after each round.
process.on("message", () => process.send!(process.cpuUsage()));
process.on("disconnect", () => process.exit());
