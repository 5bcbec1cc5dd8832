// Requests to the account routes of the dashboard API (service/http/dashboard).

import type * as Answers from "../../service/http/dashboard/answers.ts";
import { request } from "./request.ts";

export type * from "../../service/http/dashboard/answers.ts";

/**
 * The fields of a new API key. By default, the service chooses a name, grants every scope, and sets
 * no expiry.
 */
export type NewApiKey = { name?: string; scopes?: Answers.Scope[]; expiresAt?: string | null };

const dashboard = "/dashboard/api";

/**
 * Requests to paths below `/dashboard`: the dashboard API, and the sign-in routes below
 * `/dashboard/auth`.
 */
export const api = {
  config: () => request<Answers.Config>("GET", `${dashboard}/config`),
  session: () => request<Answers.SignedIn>("GET", `${dashboard}/session`),
  account: () => request<Answers.SpendingAccount>("GET", `${dashboard}/account`),
  credentials: () => request<Answers.Credentials>("GET", `${dashboard}/credentials`),
  /**
   * Rotates the API key that the page shows. `prefix` is the beginning of this key. If two users
   * rotate the same key simultaneously, only one rotation succeeds.
   */
  rotateApiKey: (prefix: string) =>
    request<Answers.Made<"apiKey">>("POST", `${dashboard}/credentials/api-key/rotate`, { prefix }),
  addApiKey: (key: NewApiKey) =>
    request<Answers.Made<"apiKey">>("POST", `${dashboard}/credentials/api-key`, key),
  revokeApiKey: (prefix: string) =>
    request<object>("DELETE", `${dashboard}/credentials/api-key`, { prefix }),
  rotateClientId: (clientId: string) =>
    request<Answers.Made<"clientId">>("POST", `${dashboard}/credentials/client-id/rotate`, {
      clientId,
    }),
  bindClientId: (bound: boolean) =>
    request<object>("POST", `${dashboard}/credentials/client-id/bound`, { bound }),
  allowReferences: (mayName: boolean) =>
    request<object>("POST", `${dashboard}/credentials/client-id/may-name`, { mayName }),
  rotateReferenceKey: () =>
    request<Answers.Made<"referenceKey">>(
      "POST",
      `${dashboard}/credentials/reference-key/rotate`,
      {},
    ),
  origins: () => request<Answers.Origins>("GET", `${dashboard}/origins`),
  addOrigin: (origin: string) =>
    request<Answers.Origins>("POST", `${dashboard}/origins`, { origin }),
  removeOrigin: (origin: string) =>
    request<Answers.Origins>("DELETE", `${dashboard}/origins`, { origin }),
  judgeEntry: (entry: string, signal: AbortSignal) =>
    request<Answers.Verdicts>("POST", `${dashboard}/origins/verdict`, { entry }, signal),
  judgeOrigin: (origin: string, signal: AbortSignal) =>
    request<Answers.Verdicts>("POST", `${dashboard}/origins/verdict`, { origin }, signal),
  usage: (hours: number) =>
    request<{ hours: Answers.UsageHour[] }>("GET", `${dashboard}/usage?hours=${hours}`),
  money: (days: number) => request<Answers.Money>("GET", `${dashboard}/money?days=${days}`),
  activity: (cursor: string | null) =>
    request<Answers.Page<Answers.Activity>>("GET", `${dashboard}/activity?${search({ cursor })}`),

  signUp: (email: string, password: string) =>
    request<unknown>("POST", "/auth/sign-up/email", { email, password }),
  signIn: (email: string, password: string) =>
    request<unknown>("POST", "/auth/sign-in/email", { email, password }),
  signOut: () => request<unknown>("POST", "/auth/sign-out", {}),
  changePassword: (currentPassword: string, newPassword: string) =>
    request<unknown>("POST", "/auth/change-password", {
      currentPassword,
      newPassword,
    }),
  resetPassword: (token: string, newPassword: string) =>
    request<unknown>("POST", "/auth/reset-password", { token, newPassword }),
};

/** Builds a query string from all non-empty values. */
export const search = (values: Record<string, string | null>) =>
  new URLSearchParams(
    Object.entries(values).filter((pair): pair is [string, string] => Boolean(pair[1])),
  );
