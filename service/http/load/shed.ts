// The answer to one request too many, put together once.

import type { FastifyReply } from "fastify";

const body = Buffer.from(
  JSON.stringify({
    error: {
      code: "service_unavailable",
      message: "too many requests are under way; try again in a second",
      issues: [],
    },
  }),
);

export function shed(reply: FastifyReply): void {
  reply.code(503).headers({
    "retry-after": "1",
    "cache-control": "no-store",
    "content-type": "application/json; charset=utf-8",
  });
  reply.send(body);
}
