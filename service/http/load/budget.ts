// Bounds the requests of a kind under way: one more is refused at once.

import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { shed } from "./shed.ts";

/**
 * An onRequest or preHandler hook that lets at most `max` requests be under way, until they are
 * answered: a client that does not take its answer holds no place.
 * @param onShed called for each refused
 */
export function budget(max: number, onShed: () => void) {
  const underWay = new Set<ServerResponse>();
  function leave(this: ServerResponse) {
    underWay.delete(this);
  }
  return (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (underWay.size >= max) {
      onShed();
      return void shed(reply);
    }
    underWay.add(reply.raw);
    reply.raw.on("prefinish", leave).on("close", leave);
    done();
  };
}
