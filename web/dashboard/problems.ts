// An error says to the person at the screen the sentence that stands here for its code, or else the
// sentence that the server sent.

import { Problem } from "./request.ts";

const texts: Record<string, string> = {
  unreachable:
    "No answer came from the server. Check your connection, then look whether it was done.",
  unauthorized: "Your session has ended. Sign in again.",
  conflict: "It was changed in another window meanwhile. This page shows it as it is now.",
  rate_limited: "Too many attempts. Wait a minute, then try again.",
  forbidden: "This dashboard works only at its own public address. Open it there.",
  chain_unavailable: "The chain cannot be read just now.",
  service_unavailable: "The server is overloaded or its database is away. Try again in a moment.",
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
