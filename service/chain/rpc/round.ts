// Sends the same request to several endpoints of a chain in parallel (a round). Waits for every
// endpoint until enough have answered. From then on, waits a limited time for the other endpoints,
// and not at all for endpoints that are rate-limited by their provider. Otherwise, one slow
// endpoint would delay every read, although the others agree.

import {
  type EndpointRecord,
  type Inquiry,
  type NetworkState,
  recordFailure,
} from "./endpoint-record.ts";
import { ChainUnavailable } from "./json-rpc.ts";

/**
 * An endpoint is late if its response takes longer than `lateMsMin`, and also longer than
 * `lateFactor` times the time in which enough other endpoints answered. The limits are generous, so
 * that medians also include the answers of slower endpoints.
 */
export const lateMsMin = 2000;
const lateFactor = 4;

/** @param enoughMs the time after which enough endpoints had answered */
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
   * Waits until all endpoints have answered, or until enough have answered and the others are late
   * or rate-limited. Ends the round.
   * @returns the values in the order in which the endpoints were asked
   */
  all(): Promise<(Value | undefined)[]>;
  /** Ends the round, and records a failure for each late endpoint. */
  end(): void;
};

/**
 * @param enough after this number of usable values, the wait for the other endpoints is limited
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
        onThrottled() {
          if (isOver) throw new ChainUnavailable("other endpoints have answered");
          if (entry.state === "open") entry.state = "throttled";
          change.notify();
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
