// Implements sign-up, sign-in, and password changes for users of the dashboard. Only this file and
// sessions.ts use better-auth, a library for sign-in.
//
// The service does not serve better-auth's HTTP routes, because their responses would contain
// session tokens. Instead, the service calls better-auth's functions.
//
// better-auth writes outside the service's transactions. A crash during a sign-up can therefore
// leave a user without an account. The user's next sign-in then creates the account
// (`ensureAccount`).
//
// The service loads better-auth when a request first needs it, because only the dashboard needs it.

import { randomBytes } from "node:crypto";
import type { BetterAuthOptions } from "better-auth";
import { type Kysely, sql } from "kysely";
import { dayMs, daySeconds, toIso } from "../../flow/days.ts";
import type { Store } from "../../store/store.ts";
import type { Tables } from "../../store/tables.ts";
import { type Account, createAccount, findAccount, isEmail, normalizeEmail } from "../account.ts";
import { type Actor, appendAudit } from "../audit.ts";
import { newAccountId } from "../credentials.ts";
import {
  passwordCharactersMax,
  passwordCharactersMin,
  SignInError,
  type SignInErrorCode,
} from "./errors.ts";
import { storeDigests } from "./sessions.ts";

/**
 * `Cookies` is the browser's `Cookie` header. `SetCookies` are the `Set-Cookie` headers of the
 * response.
 */
type Cookies = { cookie?: string | undefined };
type SetCookies = { setCookies: string[] };
type Login = { email: string; password: string };

export type SignIn = {
  /**
   * @throws {SignInError} `signup_closed`, `user_already_exists`, or the reason why the email or
   *   password is refused
   */
  signUp(login: Login, actor: Actor): Promise<SetCookies & { account: Account }>;
  /**
   * @throws {SignInError} `invalid_email_or_password`, which does not say whether the email or the
   *   password is wrong
   */
  signIn(login: Login, actor: Actor): Promise<SetCookies & { account: Account }>;
  /** Ends the session to which the cookies belong, if there is such a session. */
  signOut(cookies: Cookies, actor: Actor): Promise<SetCookies>;
  /**
   * Changes the password of the signed-in user, and ends all other sessions of the account.
   * @throws {SignInError} `invalid_password` if the current password is wrong
   */
  changePassword(
    cookies: Cookies,
    change: { currentPassword: string; newPassword: string },
    actor: Actor,
  ): Promise<SetCookies>;
  /**
   * Sets a new password, and ends all sessions of the account.
   * @throws {SignInError} `invalid_token`
   */
  resetPassword(reset: { token: string; newPassword: string }, actor: Actor): Promise<void>;
  /**
   * Finds the session that the cookies belong to. Each call reads the database, so that all servers
   * refuse an ended session immediately.
   */
  findSession(
    cookies: Cookies,
  ): Promise<(SetCookies & { account: Account; sessionId: string }) | undefined>;
  /**
   * Creates a token that can be used for one call of `resetPassword`, within a day. The account
   * does not need to have a password.
   *
   * @returns undefined if no account has the email
   */
  makeResetSecret(email: string, actor: Actor): Promise<string | undefined>;
};

/** Maps better-auth's error codes to the codes of this service. */
const codes: Record<string, SignInErrorCode> = {
  INVALID_EMAIL_OR_PASSWORD: "invalid_email_or_password",
  INVALID_EMAIL: "invalid_email",
  INVALID_PASSWORD: "invalid_password",
  PASSWORD_TOO_SHORT: "password_too_short",
  PASSWORD_TOO_LONG: "password_too_long",
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: "user_already_exists",
  INVALID_TOKEN: "invalid_token",
  USER_NOT_FOUND: "invalid_token",
  CREDENTIAL_ACCOUNT_NOT_FOUND: "invalid_password",
};

const sessionSeconds = 7 * daySeconds;
const resetLinkMs = dayMs;

type SignInOptions = {
  /** The URL at which browsers reach the service. */
  publicUrl: string;
  signup: "open" | "closed";
  /**
   * The secret that signs session cookies, with at least 32 characters. All servers must use the
   * same secret.
   */
  secret: string;
};

export function openSignIn(
  store: Pick<Store, "db" | "dialect">,
  { publicUrl, signup, secret }: SignInOptions,
): SignIn {
  let auth: Auth | undefined;
  const loadAuth = () => {
    auth ??= configure(store, publicUrl, secret).catch((error: unknown) => {
      auth = undefined;
      throw error;
    });
    return auth;
  };
  const context = { db: store.db, loadAuth };
  return { ...signUpAndSignIn(context, signup), ...sessions(context), ...passwords(context) };
}

type Auth = ReturnType<typeof configure>;
type Context = { db: Kysely<Tables>; loadAuth: () => Auth };

function signUpAndSignIn(
  { db, loadAuth }: Context,
  signup: SignInOptions["signup"],
): Pick<SignIn, "signUp" | "signIn"> {
  return {
    async signUp({ email, password }, actor) {
      if (signup === "closed") throw new SignInError("signup_closed");
      if (!isEmail(email)) throw new SignInError("invalid_email");
      // An operator may have created an account with the same email address. Without this check, an
      // attacker could take over that account by signing up.
      if (await findAccount(db, { email })) throw new SignInError("user_already_exists");
      await refuseGuessable(password, email);
      const auth = await loadAuth();
      const body = { name: email, email: normalizeEmail(email), password };
      const { headers, response } = await translate(
        auth.api.signUpEmail({ body, headers: agentHeaders(actor), returnHeaders: true }),
      ).catch(async (error) => {
        // Of two simultaneous sign-ups with the same email, the second fails. Its error does not
        // contain the reason.
        if (await isUser(db, body.email)) throw new SignInError("user_already_exists");
        throw error;
      });
      const account = await createAccount(db, email, actor, response.user.id);
      if (!account) {
        await db.deleteFrom("auth_users").where("id", "=", response.user.id).execute();
        throw new SignInError("user_already_exists");
      }
      return { account, setCookies: headers.getSetCookie() };
    },

    async signIn({ email, password }, actor) {
      const auth = await loadAuth();
      const body = { email: normalizeEmail(email), password };
      const { headers, response } = await translate(
        auth.api.signInEmail({ body, headers: agentHeaders(actor), returnHeaders: true }),
      );
      const account = await ensureAccount(db, response.user, actor);
      if (!account) throw new SignInError("invalid_email_or_password");
      await appendAudit(db, account.accountId, "signed_in", actor);
      await forgetExpired(db);
      return { account, setCookies: headers.getSetCookie() };
    },
  };
}

function sessions({ db, loadAuth }: Context): Pick<SignIn, "signOut" | "findSession"> {
  return {
    async signOut({ cookie }, actor) {
      const auth = await loadAuth();
      const headers = cookieHeaders(cookie);
      const found = await auth.api.getSession({ headers });
      const ended = await auth.api.signOut({ headers, returnHeaders: true });
      if (found) await appendAudit(db, found.user.id, "signed_out", actor);
      return { setCookies: ended.headers.getSetCookie() };
    },

    async findSession({ cookie }) {
      if (cookie === undefined) return undefined;
      const auth = await loadAuth();
      const { headers, response } = await auth.api.getSession({
        headers: cookieHeaders(cookie),
        returnHeaders: true,
      });
      if (!response) return undefined;
      const account = await ensureAccount(db, response.user, { atMs: Date.now() });
      const sessionId = response.session.id;
      return account && { account, sessionId, setCookies: headers.getSetCookie() };
    },
  };
}

function passwords({
  db,
  loadAuth,
}: Context): Pick<SignIn, "changePassword" | "resetPassword" | "makeResetSecret"> {
  return {
    async changePassword({ cookie }, change, actor) {
      await refuseGuessable(change.newPassword, "");
      const auth = await loadAuth();
      const { headers, response } = await translate(
        auth.api.changePassword({
          body: { ...change, revokeOtherSessions: true },
          headers: cookieHeaders(cookie),
          returnHeaders: true,
        }),
      );
      await appendAudit(db, response.user.id, "password_changed", actor);
      return { setCookies: headers.getSetCookie() };
    },

    async resetPassword({ token, newPassword }, actor) {
      const auth = await loadAuth();
      const { internalAdapter } = await auth.$context;
      await refuseGuessable(newPassword, "");
      const verification = await internalAdapter.findVerificationValue(resetIdentifier(token));
      await translate(auth.api.resetPassword({ body: { token, newPassword } }));
      if (verification) await appendAudit(db, verification.value, "password_reset", actor);
    },

    async makeResetSecret(email, actor) {
      const account = await findAccount(db, { email });
      if (!account) return undefined;
      await ensureUser(db, account);
      const token = randomBytes(24).toString("base64url");
      const auth = await loadAuth();
      const { internalAdapter } = await auth.$context;
      await internalAdapter.createVerificationValue({
        value: account.accountId,
        identifier: resetIdentifier(token),
        expiresAt: new Date(Date.now() + resetLinkMs),
      });
      await appendAudit(db, account.accountId, "reset_link_made", actor);
      return token;
    },
  };
}

const isUser = async (db: Kysely<Tables>, email: string) =>
  (await db.selectFrom("auth_users").select("id").where("email", "=", email).execute()).length > 0;

/**
 * Finds the account of a user, and creates the account if it is missing. The account is missing if
 * the process crashed during the sign-up.
 */
const ensureAccount = async (
  db: Kysely<Tables>,
  user: { id: string; email: string },
  actor: Actor,
) =>
  (await findAccount(db, { accountId: user.id })) ??
  (await createAccount(db, user.email, actor, user.id));

async function configure(
  { db, dialect }: Pick<Store, "db" | "dialect">,
  url: string,
  secret: string,
) {
  const [{ betterAuth }, { getAdapter }] = await Promise.all([
    import("better-auth"),
    import("better-auth/db/adapter"),
  ]);
  const isSecure = new URL(url).protocol === "https:";
  // Browsers send the cookies of a host to all its ports. Therefore, the cookies need names that
  // only this service uses.
  const cookie = (name: string) => ({
    name: isSecure ? `__Host-${name}` : name,
    attributes: { secure: isSecure, httpOnly: true, sameSite: "strict" as const, path: "/" },
  });
  const options: BetterAuthOptions = {
    baseURL: url,
    secret,
    database: { db, type: dialect },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: passwordCharactersMin,
      maxPasswordLength: passwordCharactersMax,
      revokeSessionsOnPasswordReset: true,
    },
    user: { modelName: "auth_users" },
    session: { modelName: "auth_sessions", expiresIn: sessionSeconds },
    account: { modelName: "auth_passwords" },
    verification: { modelName: "auth_tokens", storeIdentifier: "hashed" },
    advanced: {
      // With `useSecureCookies: true`, better-auth would add the prefix `__Secure-` to the cookie
      // names below. On https, these names already have the prefix `__Host-`. With this prefix,
      // other hosts cannot set the cookies.
      useSecureCookies: false,
      cookies: {
        session_token: cookie("eas-session"),
        session_data: cookie("eas-session-data"),
        dont_remember: cookie("eas-session-only"),
      },
      database: {
        generateId: ({ model }) => (model === "user" ? newAccountId() : randomHex(16)),
      },
      ipAddress: { disableIpTracking: true },
    },
    // better-auth's own rate limits are disabled, because attempts.ts limits the sign-in attempts.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { disabled: true },
  };
  const adapter = storeDigests(await getAdapter(options));
  return betterAuth({ ...options, database: () => adapter });
}

const randomHex = (bytes: number) => randomBytes(bytes).toString("hex");

/** Returns the identifier by which better-auth's `resetPassword` finds the token. */
const resetIdentifier = (token: string) => `reset-password:${token}`;

/**
 * Passes the user agent, which better-auth stores with the session. The user agent helps users to
 * recognize their sessions.
 */
const agentHeaders = ({ userAgent }: Actor) =>
  new Headers(userAgent === undefined ? {} : { "user-agent": userAgent });

function cookieHeaders(cookie: string | undefined): Headers {
  return new Headers(cookie === undefined ? {} : { cookie });
}

/**
 * Converts known errors of better-auth to a {@link SignInError}. Throws all other errors unchanged.
 */
async function translate<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    const { APIError } = await import("better-auth");
    if (!(error instanceof APIError)) throw error;
    const code = codes[error.body?.code ?? ""];
    if (code) throw new SignInError(code);
    if (error.statusCode === 401) throw new SignInError("unauthorized");
    throw error;
  }
}

/** Deletes expired sessions and tokens. */
async function forgetExpired(db: Kysely<Tables>): Promise<void> {
  const now = toIso(Date.now());
  await sql`delete from auth_sessions where "expiresAt" < ${now}`.execute(db);
  await sql`delete from auth_tokens where "expiresAt" < ${now}`.execute(db);
}

/**
 * Creates the account's user, without a password. Does nothing if the user exists. If an operator
 * created the account, it has no user at first.
 */
async function ensureUser(db: Kysely<Tables>, { accountId, email }: Account): Promise<void> {
  const now = toIso(Date.now());
  await sql`insert into auth_users
      ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
    values (${accountId}, ${email}, ${email}, false, ${now}, ${now})
    on conflict do nothing`.execute(db);
}

/**
 * The lowest accepted score. Scores are from 0 to 4, and 3 means that an attacker needs more than
 * 10^8 guesses. Sign-in allows a few thousand guesses per day.
 */
const scoreMin = 3;
/**
 * The number of leading characters that determine a password's score. The computation for a long
 * password would block the event loop for too long.
 */
const estimatedCharactersMax = 40;

let estimator: Promise<Estimator> | undefined;

/**
 * Refuses passwords that are easy to guess. Estimates how many guesses an attacker needs. The
 * estimate considers common passwords, keyboard patterns, dates, and repetitions.
 *
 * @throws {SignInError} `password_guessable`, for example if the password is similar to the `email`
 */
async function refuseGuessable(password: string, email: string): Promise<void> {
  estimator ??= loadEstimator();
  const { check } = await estimator;
  const isShort = password.length < passwordCharactersMin;
  // better-auth refuses passwords that are too short or too long.
  if (isShort || password.length > passwordCharactersMax) return;
  const { score } = check(password.slice(0, estimatedCharactersMax), [
    email,
    ...email.split(/[^a-z]+/i),
  ]);
  if (score < scoreMin) throw new SignInError("password_guessable");
}

type Estimator = { check(password: string, own: string[]): { score: number } };

/** Loads the estimator when it is first used. The size of its word lists is half a megabyte. */
async function loadEstimator(): Promise<Estimator> {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common"),
  ]);
  const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return { check: (password, own) => zxcvbn.check(password, own.filter(Boolean)) };
}
