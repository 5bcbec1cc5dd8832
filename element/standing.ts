// Decides where a payer stands; every page is drawn by this. A payment that cannot run is not
// offered, and one that was made and cannot run is never shown as good.

import type { Intent } from "executable-address";
import type { Simulation } from "executable-address/client";
import { owed } from "executable-address/payment";
import type { News } from "./news.ts";

/** Why paying is not offered without a deliberate click, the gravest first. */
export type Doubt = "executed" | "expired" | "enough" | "unknown" | "fails" | "soon" | "silent";

export type Standing = {
  /** `unknown`: nothing was heard of the address, so it may be paid already. */
  state:
    | "unknown"
    | "unfunded"
    | "partly"
    | "paid"
    | "stuck"
    | "executed"
    | "expired"
    | "recovered";
  doubts: Doubt[];
  /** The amount still to be paid, in base units. */
  owed: string;
  /** Why the calls do not run, in a contract's or a server's words; null where it is not known. */
  reason: string | null;
  /** The place of the call that fails, from 0. */
  failedCall: number | null;
  /** The calls can run for so long, by the chain's clock if it is known; negative afterwards. */
  secondsLeft: number;
};

/** Whether nothing more can run: what is paid now goes to `recovery`. */
export const isOver = ({ state }: Standing): boolean =>
  state === "executed" || state === "expired" || state === "recovered";

/** Returns the name of the state's label in the element's words. */
export const findStateWord = ({ state }: Pick<Standing, "state">) =>
  `state${state[0]!.toUpperCase()}${state.slice(1)}` as `state${Capitalize<Standing["state"]>}`;

/** A payment may arrive too late when less time than this is left. */
const soonSeconds = 10 * 60;
/** After so long the last news may no longer be true. */
const silentSecondsMax = 60;

type Known = Pick<News, "status" | "isStale" | "chainSeconds" | "silentSeconds">;

export function decideStanding(
  intent: Pick<Intent, "amount" | "expirationTimestamp">,
  { status, isStale, chainSeconds, silentSeconds }: Known,
  simulation: Simulation | undefined,
  deviceSeconds: number,
): Standing {
  const secondsLeft = intent.expirationTimestamp - (chainSeconds() ?? deviceSeconds);
  const fails = simulation?.outcome === "fails" ? simulation : undefined;
  const executor = status?.executor;
  // An execution that failed before and succeeds in a test run now waits for its next attempt.
  const isTried = executor?.phase === "waiting" && executor.attempts > 0;
  const isGivenUp =
    executor?.phase === "given_up" || (isTried && simulation?.outcome !== "succeeds");
  const isStuck = fails !== undefined || isGivenUp;

  const state = ((): Standing["state"] => {
    if (status?.state === "executed" || status?.state === "recovered") return status.state;
    if (status?.state === "expired" || secondsLeft < 0) return "expired";
    if (!status) return "unknown";
    if (status.state === "funded") return isStuck ? "stuck" : "paid";
    return status.state === "partially_funded" ? "partly" : "unfunded";
  })();

  const doubts: Doubt[] = [];
  if (state === "executed") doubts.push("executed");
  else if (state === "expired" || state === "recovered") doubts.push("expired");
  else if (state === "paid" || state === "stuck") doubts.push("enough");
  else {
    if (!status || isStale) doubts.push("unknown");
    if (fails) doubts.push("fails");
    if (secondsLeft < soonSeconds) doubts.push("soon");
    if (status && silentSeconds() >= silentSecondsMax) doubts.push("silent");
  }
  return {
    state,
    doubts,
    owed: owed(intent.amount, status?.balance ?? "0"),
    reason: fails?.reason ?? (isGivenUp ? (executor?.reason ?? null) : null),
    failedCall: fails?.failedCall ?? null,
    secondsLeft,
  };
}
