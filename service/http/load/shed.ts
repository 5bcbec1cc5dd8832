// The 503 for a request above a bound, built once.

import type { FastifyReply } from "fastify";

export const shedStatus = 503;

export const shedHeaders = {
  "retry-after": "1",
  "cache-control": "no-store",
  "content-type": "application/json; charset=utf-8",
};

export const shedBody = JSON.stringify({
  error: {
    code: "service_unavailable",
    message: "too many requests are under way; try again in a second",
    issues: [],
  },
});

export function shed(reply: FastifyReply): void {
  reply.code(shedStatus).headers(shedHeaders).send(shedBody);
}
