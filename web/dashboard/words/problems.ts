// Finds the text of an error. If the dashboard has no text for the error, uses the server's
// message.

import { Problem } from "../request.ts";
import type { Key, Say } from "./words.ts";

/**
 * Copies of the service's limits, because a page cannot import the service. problems.test.ts
 * compares the copies with the service's constants.
 */
export const passwordCharactersMin = 12;
const passwordCharactersMax = 128;

const keys: Readonly<Record<string, Key>> = {
  unreachable: "problemUnreachable",
  unauthorized: "problemUnauthorized",
  conflict: "problemConflict",
  rate_limited: "problemRateLimited",
  forbidden: "problemForbidden",
  chain_unavailable: "problemChain",
  service_unavailable: "problemOverloaded",
  reference_in_use: "problemReference",
  invalid_email_or_password: "problemSignIn",
  invalid_email: "problemEmail",
  invalid_password: "problemPassword",
  password_too_short: "problemPasswordShort",
  password_too_long: "problemPasswordLong",
  password_guessable: "problemPasswordGuessable",
  user_already_exists: "problemUserExists",
  invalid_token: "problemResetLink",
  signup_closed: "signupClosedAsk",
};

/** Returns one sentence: the text of the error code, the first issue, or a general message. */
export function sayProblem(error: unknown, say: Say): string {
  if (!(error instanceof Problem)) return say("problemReload");
  const key = keys[error.code];
  if (key) return say(key, { n: passwordCharactersMin, max: passwordCharactersMax });
  const issue = error.issues[0];
  if (issue) return sentence(issue.message);
  if (error.status >= 500) return say("problemServer");
  return error.message ? sentence(error.message) : say("problemRefused", { code: error.code });
}

const sentence = (text: string) => {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
};
