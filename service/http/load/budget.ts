// Overload: past a bounded number of requests under way, a further one is refused at once, before
// its body is read, so that those under way still finish in time.

import type { FastifyReply, FastifyRequest } from "fastify";

const body = Buffer.from(
  JSON.stringify({
    error: {
      code: "service_unavailable",
      message: "too many requests are under way; try again in a second",
      issues: [],
    },
  }),
);

/**
 * An onRequest hook that lets at most `max` requests be under way.
 * @param onShed called for each refused
 */
export function budget(max: number, onShed: () => void) {
  let inFlight = 0;
  const leave = () => {
    inFlight -= 1;
  };
  return (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (inFlight >= max) {
      onShed();
      reply.code(503).headers({
        "retry-after": "1",
        "cache-control": "no-store",
        "content-type": "application/json; charset=utf-8",
      });
      return void reply.send(body);
    }
    inFlight += 1;
    reply.raw.once("close", leave);
    done();
  };
}
