// Bounds the requests of a kind under way: one more is refused at once, before its body is read.

import type { FastifyReply, FastifyRequest } from "fastify";
import { shed } from "./shed.ts";

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
      return void shed(reply);
    }
    inFlight += 1;
    reply.raw.once("close", leave);
    done();
  };
}
