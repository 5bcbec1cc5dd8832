// Bounds the requests of a kind under way: one more is refused at once.

import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal, toAnswer } from "../errors.ts";
import { jsonType } from "../headers.ts";

const message = "too many requests are under way; try again in a second";
const { status, headers, body } = toAnswer(
  new Refusal("service_unavailable", message, { headers: { "retry-after": "1" } }),
);

/** The answer to a request above a bound, made once: an overloaded server mostly refuses. */
export const tooMany = {
  status,
  headers: {
    ...headers,
    "cache-control": "no-store",
    "content-type": jsonType,
  },
  body,
};

export function refuseTooMany(reply: FastifyReply): void {
  reply.code(tooMany.status).headers(tooMany.headers).send(tooMany.body);
}

/**
 * An onRequest or preHandler hook that lets at most `max` requests be under way.
 * @param onShed called for each refused
 */
export function budget(max: number, onShed: () => void) {
  let underWay = 0;
  return (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (underWay >= max) {
      onShed();
      return refuseTooMany(reply);
    }
    underWay++;
    whenAnswered(reply, () => {
      underWay--;
    });
    done();
  };
}

/**
 * Calls `leave` once: when the request is answered, or its connection ends before. It does not wait
 * for the answer to be delivered: a client that does not take it has no place.
 *
 * Callers count the requests under way and keep no Set of them. When V8 makes a Set's table anew,
 * the old table refers to the new one, and once one of them lies in the old space, all that follow
 * are kept until a full collection, with the requests in them.
 */
export function whenAnswered({ raw }: FastifyReply, leave: () => void): void {
  let isOver = false;
  const over = () => {
    if (isOver) return;
    isOver = true;
    leave();
  };
  raw.on("prefinish", over).on("close", over);
}
