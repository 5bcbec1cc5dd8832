// What each error code means to the person at the screen. The code decides, never the message.

import { Problem } from "./request.ts";

const texts: Record<string, string> = {
  unreachable: "No answer came from the server. Check your connection, then look what holds.",
  unauthorized: "Your session has ended. Sign in again.",
  invalid_email_or_password: "No account has this email and password.",
  invalid_credentials: "No account has this email and password.",
  invalid_email: "This is not an email address.",
  invalid_password: "This is not your present password.",
  password_too_short: "This password is too short.",
  password_too_long: "This password is too long: 128 characters at most.",
  user_already_exists: "There is an account with this email already. Sign in instead.",
  user_already_exists_use_another_email:
    "There is an account with this email already. Sign in instead.",
  signup_closed: "This server takes no new accounts. Ask its operator for one.",
  email_password_sign_up_disabled: "This server takes no new accounts. Ask its operator for one.",
  invalid_token: "This link was used already or is too old. Ask the operator for a new one.",
  token_expired: "This link is too old. Ask the operator for a new one.",
  conflict: "It was changed in another window meanwhile. This page now shows what holds.",
  too_many_requests: "Too many attempts. Wait a minute, then try again.",
  rate_limited: "Too many attempts. Wait a minute, then try again.",
  origin_limit: "The list is full: an account allows up to 20 origins. Remove one first.",
  forbidden: "This dashboard works only at its own public address. Open it there.",
  chain_unavailable: "The chain cannot be read just now.",
  unavailable: "The server is overloaded or its database is away. Try again in a moment.",
};

/** One sentence for an error: of its first issue, of its code, or an honest last resort. */
export function sayProblem(error: unknown): string {
  if (!(error instanceof Problem)) return "Something in this page went wrong. Reload it.";
  const known = texts[error.code];
  if (known) return known;
  const issue = error.issues[0];
  if (issue) return sentence(issue.message);
  if (error.status >= 500) return "The server failed. Try again; if it goes on, tell its operator.";
  return sentence(error.message || `The server refused (${error.code}).`);
}

const sentence = (text: string) => {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
};
