// Bounds the requests of a kind under way: one more is refused at once.

import type { FastifyReply, FastifyRequest } from "fastify";
import { shed } from "./shed.ts";
import { whenAnswered } from "./when-answered.ts";

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
    whenAnswered(reply, () => {
      underWay--;
    });
    done();
  };
}
