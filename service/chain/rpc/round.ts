// Sends the same request to several endpoints of a chain in parallel (a round). After enough
// endpoints have answered, waits a limited time for the others, but not for rate-limited endpoints.
// Without a limit, one slow endpoint would delay every read.

import {
  type EndpointRecord,
  type Inquiry,
  type NetworkState,
  recordFailure,
} from "./endpoint-record.ts";

/**
 * An endpoint is late if its response time is above both limits. The first limit is `lateMsMin`.
 * The second limit is `lateFactor` times the response time of the last endpoint that was needed.
 * The limits are high, so that the answers of slower endpoints are also used. For example, more
 * answers make a median more reliable.
 */
export const lateMsMin = 2000;
const lateFactor = 4;

/** @param enoughMs the response time of the last endpoint that was needed */
export const lateAfterMs = (enoughMs: number): number => Math.max(lateMsMin, enoughMs * lateFactor);

type Entry<Value> = {
  record: EndpointRecord;
  beganMs: number;
  /** Undefined before the endpoint has answered, or if it fails. */
  value: Value | undefined;
  state: "open" | "late" | "throttled" | "ended";
};

export type Round<Value> = {
  ask(record: EndpointRecord): void;
  /** The asked endpoints, in the order in which they were asked. */
  entries: readonly Readonly<Entry<Value>>[];
  /**
   * Resolves when an entry changes.
   * @throws the error of a request
   */
  next(): Promise<void>;
  /**
   * Waits until all endpoints have answered, and ends the round. After enough answers, does not
   * wait for late or rate-limited endpoints.
   * @returns the values in the order in which the endpoints were asked
   */
  all(): Promise<(Value | undefined)[]>;
  /** Ends the round, and records a failure for each late endpoint. */
  end(): void;
};

/**
 * @param enough the number of usable values after which the remaining wait is limited
 * @param request returns undefined if the endpoint fails
 */
export function openRound<Value>(
  state: NetworkState,
  enough: number,
  request: (record: EndpointRecord, inquiry: Inquiry) => Promise<Value | undefined>,
  isUsable: (value: Value) => boolean = () => true,
): Round<Value> {
  const { clock, sleep } = state;
  const entries: Entry<Value>[] = [];
  const change = openSignal();
  let failure: { error: unknown } | undefined;
  let isOver = false;
  let usable = 0;
  let enoughMs: number | undefined;
  const limit = async (entry: Entry<Value>) => {
    await sleep(Math.max(0, entry.beganMs + lateAfterMs(enoughMs!) - clock()));
    if (entry.state !== "open") return;
    entry.state = "late";
    change.notify();
  };
  const answered = (entry: Entry<Value>, value: Value | undefined) => {
    Object.assign(entry, { value, state: "ended" });
    if (value !== undefined && isUsable(value) && ++usable === enough) {
      enoughMs = clock() - entry.beganMs;
      for (const other of entries) if (other.state === "open") void limit(other);
    }
    change.notify();
  };
  const round: Round<Value> = {
    entries,
    ask(record) {
      const entry: Entry<Value> = { record, beganMs: clock(), value: undefined, state: "open" };
      entries.push(entry);
      const inquiry: Inquiry = {
        isOver: () => isOver,
        mayWait() {
          if (isOver) return false;
          if (entry.state === "open") entry.state = "throttled";
          change.notify();
          return true;
        },
      };
      if (enoughMs !== undefined) void limit(entry);
      request(record, inquiry).then(
        (value) => answered(entry, value),
        (error) => {
          failure = { error };
          change.notify();
        },
      );
    },
    async next() {
      if (!failure) await change.next();
      if (failure) throw failure.error;
    },
    async all() {
      const isWaiting = () =>
        entries.some((each) => each.state === "open") ||
        (usable < enough && entries.some((each) => each.state !== "ended"));
      while (isWaiting()) await round.next();
      round.end();
      return entries.map(({ value }) => value);
    },
    end() {
      isOver = true;
      for (const entry of entries) if (entry.state === "late") recordLate(state, entry, enoughMs!);
    },
  };
  return round;
}

/** Returns a signal that can be awaited repeatedly. */
function openSignal() {
  let changed = Promise.withResolvers<void>();
  return {
    next: () => changed.promise,
    notify() {
      changed.resolve();
      changed = Promise.withResolvers();
    },
  };
}

function recordLate(
  state: NetworkState,
  { record, beganMs }: Pick<Entry<unknown>, "record" | "beganMs">,
  enoughMs: number,
): void {
  const times = `no answer within ${Math.round(state.clock() - beganMs)} ms`;
  recordFailure(
    state,
    record,
    `${times}, but enough other endpoints answered within ${Math.round(enoughMs)} ms`,
  );
}
