// When a request no longer holds the place it was given.

import type { FastifyReply } from "fastify";

/**
 * Calls `leave` once: when the request is answered, or its connection ends before. Not when the
 * answer was delivered: a client that does not take it holds no place.
 *
 * Those under way are counted by the callers, not kept in a Set. When V8 makes a Set's table anew,
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
