// Decides which payment state a page shows. A page must not offer payment if the calls cannot be
// executed. A page must not show a received payment as successful if its execution fails.

import { type Intent, requestedAmount } from "executable-address";
import type { Simulation } from "executable-address/client";
import { formatUnits, isName, owed, symbolMax } from "executable-address/payment";
import type { ServiceStatus, WrongToken } from "executable-address/status";
import { coversPayment, type Hazard } from "./hazards.ts";
import type { News } from "./news.ts";

/** The reasons to hide the payment options behind a button, most serious first. */
export type Doubt = "executed" | "expired" | "enough" | "unknown" | "fails" | "soon" | "silent";

export type Standing = {
  /** `unknown`: no status has arrived, so the address may already be paid. */
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
  /** The amount still due, in base units. */
  owed: string;
  /** The reason why the calls fail, as text from a contract or the server. Null if unknown. */
  reason: string | null;
  /** The index of the failing call, from 0. */
  failedCall: number | null;
  /**
   * Seconds until the expiry, negative after the expiry. Uses the device's clock if the chain's
   * time is unknown.
   */
  secondsLeft: number;
};

/** Returns whether the calls can no longer run. New money can then only go to `recovery`. */
export const isOver = ({ state }: Pick<Standing, "state">): boolean =>
  state === "executed" || state === "expired" || state === "recovered";

/** Returns the text key of a state, such as `stateExecuted`. */
export const findStateWord = ({ state }: Pick<Standing, "state">) =>
  `state${state[0]!.toUpperCase()}${state.slice(1)}` as `state${Capitalize<Standing["state"]>}`;

/** If less time than this is left, the page warns that a payment may arrive too late. */
const soonSeconds = 10 * 60;
/** If no update arrives for this time, the page warns that the status may be outdated. */
const silentSecondsMax = 60;

/** Says how the payment page and the element show the payment options. */
export type Offer = {
  /** Whether the address still needs money. Hazards matter only while the address needs money. */
  isAwaited: boolean;
  /** Whether a hazard hides the payment options. */
  isCovered: boolean;
  /**
   * Whether to show the payment options immediately. If the options are hidden, the payment page
   * explains the reason. After the payer confirms this message, the page shows the options, unless
   * the calls can no longer run. The element does not offer this confirmation, and links to the
   * payment page instead.
   */
  isPayable: boolean;
  /**
   * Whether the reasons in `doubts` are warnings. In the states `paid` and `executed`, the reasons
   * only say that no payment is needed.
   */
  isGrave: boolean;
};

export function decideOffer(
  { state, doubts }: Pick<Standing, "state" | "doubts">,
  hazards: readonly Hazard[],
): Offer {
  const isAwaited = state === "unknown" || state === "unfunded" || state === "partly";
  const isCovered = isAwaited && hazards.some(coversPayment);
  const isPayable = doubts.length === 0 && !isCovered;
  return {
    ...{ isAwaited, isCovered, isPayable },
    isGrave: doubts.length > 0 && state !== "executed" && state !== "paid",
  };
}

type Paid = Pick<Intent, "token" | "amount" | "calls">;
type Known = Pick<News, "status" | "isStale" | "chainSeconds" | "silentSeconds">;

export function decideStanding(
  intent: Paid & Pick<Intent, "expirationTimestamp">,
  { status, isStale, chainSeconds, silentSeconds }: Known,
  simulation: Simulation | undefined,
  deviceSeconds: number,
): Standing {
  const secondsLeft = intent.expirationTimestamp - (chainSeconds() ?? deviceSeconds);
  const fails = simulation?.outcome === "fails" ? simulation : undefined;
  const executor = status?.executor;
  // The executor's last attempt failed. If the simulation now succeeds, the next attempt can
  // succeed too.
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
    owed: owedTo(intent, status?.balance ?? "0"),
    reason: fails?.reason ?? (isGivenUp ? (executor?.reason ?? null) : null),
    failedCall: fails?.failedCall ?? null,
    secondsLeft,
  };
}

/**
 * Returns the amount due. If the balance is sufficient for the calls, returns zero. Otherwise,
 * returns the requested amount minus the balance. The requested amount can be higher than the calls
 * need.
 */
const owedTo = (intent: Paid, balance: string): string =>
  owed(intent.amount, balance) === "0" ? "0" : owed(requestedAmount(intent), balance);

export type WrongTokenNews = {
  token: WrongToken["token"];
  /** For example, "Bridged USDC (USDC.e)". */
  name: string;
  /** For example, "25 USDC.e". */
  held: string;
  /**
   * The key of the text that says what happens to the token. `wrongTokenLater` means that the token
   * stays at the address while the address is open. `wrongTokenNow` means that the token is being
   * returned.
   */
  fate: "wrongTokenLater" | "wrongTokenNow";
};

/**
 * Describes tokens with a similar name that arrived instead of the requested token. The symbols
 * come from the server. A misleading symbol is replaced by the token's address.
 */
export function findWrongTokens(
  status: Pick<ServiceStatus, "wrongTokens"> | undefined,
  standing: Pick<Standing, "state">,
): WrongTokenNews[] {
  return (status?.wrongTokens ?? []).map(({ token, amount, symbol, name, decimals }) => {
    const shown = isName(symbol, symbolMax) ? symbol : token;
    return {
      token,
      name: isName(name) && shown !== token ? `${name} (${shown})` : shown,
      held: `${formatUnits(amount, decimals)} ${shown}`,
      fate: isOver(standing) ? "wrongTokenNow" : "wrongTokenLater",
    };
  });
}
