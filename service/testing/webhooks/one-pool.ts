// A rule that decides the order of webhook deliveries. Unlike the service's rule, it has no lanes.
// Control tests use this rule to show the effect of the lanes. All endpoints share one pool of
// slots (simultaneous requests). Endpoints get slots in the order in which they become due. The
// number of slots per account is not limited. A failed delivery does not change the endpoint's
// state (`nextLaneState`).

import { allLanes, newLaneState, type Rule } from "../../webhooks/lanes.ts";

/** Assigns slots in the order of `due`, regardless of the endpoints' accounts. */
export const inTurn: Rule["share"] = (due, slots, { all, byId }, _, most) => {
  let left = Math.min(most, slots.all - all);
  return due.flatMap((one) => {
    const room = Math.min(left, slots.endpoint - (byId.get(one.id) ?? 0));
    if (room <= 0) return [];
    left -= room;
    return [{ ...one, room }];
  });
};

const pool = { all: 128, endpoint: 4 };

export const onePool: Rule = {
  slots: Object.fromEntries(allLanes.map((lane) => [lane, pool])) as Rule["slots"],
  nextLaneState: () => newLaneState,
  mayHaveMore: () => true,
  mayChangeLane: () => false,
  share: inTurn,
};
