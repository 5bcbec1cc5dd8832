// Bounds the requests of a kind under way: one more is refused at once.

import type { FastifyReply, FastifyRequest } from "fastify";
import { shed } from "./shed.ts";

/**
 * An onRequest or preHandler hook that lets at most `max` requests be under way, until they are
 * answered: a client that does not take its answer holds no place.
 * @param onShed called for each refused
 */
export function budget(max: number, onShed: () => void) {
  let underWay = 0;
  return (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (underWay >= max) {
      onShed();
      return void shed(reply);
    }
    underWay++;
    let isOver = false;
    // A counter, not a Set of those under way: when V8 makes a Set's table anew, the old table
    // refers to the new one, and once one of them lies in the old space, all that follow are kept
    // until a full collection, with the requests in them.
    const leave = () => {
      if (isOver) return;
      isOver = true;
      underWay--;
    };
    reply.raw.on("prefinish", leave).on("close", leave);
    done();
  };
}
