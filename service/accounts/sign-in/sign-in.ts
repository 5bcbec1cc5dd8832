// Signs users of the dashboard up and in, and changes their passwords, with better-auth. Only this
// file and sessions.ts use better-auth, so another library could replace it.
//
// The service uses better-auth's functions, but not its HTTP routes, which would return session
// tokens in bodies and have many paths that the dashboard does not need. better-auth runs its
// statements without a transaction. On SQLite, a transaction would fail whenever the service
// creates an address in between.
//
// better-auth is loaded by the first request that needs it. If it were loaded when a server starts,
// it would be a quarter of the loaded code.

import { randomBytes } from "node:crypto";
import type { BetterAuthOptions } from "better-auth";
import { type Kysely, sql } from "kysely";
import { toIso } from "../../flow/days.ts";
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
 * `Cookies` has the browser's `Cookie` header, and `SetCookies` has `Set-Cookie` values for the
 * response.
 */
type Cookies = { cookie?: string | undefined };
type SetCookies = { setCookies: string[] };
type Login = { email: string; password: string };

export type SignIn = {
  /**
   * @throws {SignInError} `signup_closed`, `user_already_exists`, or a code that describes the
   *   fault of the email or password
   */
  signUp(login: Login, actor: Actor): Promise<SetCookies & { account: Account }>;
  /**
   * @throws {SignInError} `invalid_email_or_password`, which does not say which of the two is wrong
   */
  signIn(login: Login, actor: Actor): Promise<SetCookies & { account: Account }>;
  /** Ends the session of these cookies, if there is one. */
  signOut(cookies: Cookies, actor: Actor): Promise<SetCookies>;
  /**
   * Ends every other session of the account.
   * @throws {SignInError} `invalid_password`
   */
  changePassword(
    cookies: Cookies,
    change: { currentPassword: string; newPassword: string },
    actor: Actor,
  ): Promise<SetCookies>;
  /**
   * Ends every session of the account.
   * @throws {SignInError} `invalid_token`
   */
  resetPassword(reset: { token: string; newPassword: string }, actor: Actor): Promise<void>;
  /**
   * Finds the session of these cookies. Each call reads the store, so that an ended session is
   * invalid on every server.
   */
  findSession(
    cookies: Cookies,
  ): Promise<(SetCookies & { account: Account; sessionId: string }) | undefined>;
  /**
   * Creates a token that is valid for one call of resetPassword within a day. The account may never
   * have had a password.
   */
  makeResetSecret(email: string, actor: Actor): Promise<string | undefined>;
};

/** Maps better-auth's codes to ours. */
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

const sessionSeconds = 7 * 24 * 3600;
const resetLinkMs = 24 * 3600 * 1000;

type SignInOptions = {
  /**
   * The URL at which browsers reach the service. With https, the cookie is Secure and its name
   * begins with `__Host-`.
   */
  publicUrl: string;
  signup: "open" | "closed";
  /**
   * Signs session cookies. The secret has at least 32 random bytes and is the same on every server.
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
  return { ...doors(context, signup), ...sessions(context), ...passwords(context) };
}

type Auth = ReturnType<typeof configure>;
type Context = { db: Kysely<Tables>; loadAuth: () => Auth };

function doors(
  { db, loadAuth }: Context,
  signup: SignInOptions["signup"],
): Pick<SignIn, "signUp" | "signIn"> {
  return {
    async signUp({ email, password }, actor) {
      if (signup === "closed") throw new SignInError("signup_closed");
      if (!isEmail(email)) throw new SignInError("invalid_email");
      // Otherwise a stranger could claim an account that an operator created, by signing up with
      // its email.
      if (await findAccount(db, { email })) throw new SignInError("user_already_exists");
      await refuseGuessable(password, email);
      const auth = await loadAuth();
      const body = { name: email, email: normalizeEmail(email), password };
      const { headers, response } = await translate(
        auth.api.signUpEmail({ body, headers: agentHeaders(actor), returnHeaders: true }),
      ).catch(async (error) => {
        // If two sign-ups are simultaneous, better-auth gives no reason for the failure of the
        // second.
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
 * Creates the account of a user who has none. This can happen if the process crashes between the
 * two writes of a sign-up.
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
  // The names are specific to this service, because a browser shares cookies among all ports of a
  // host.
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
      // Otherwise better-auth adds the prefix `__Secure-` to the names below. This prefix
      // guarantees less than `__Host-`.
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
    // attempts.ts limits attempts before they reach better-auth.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { disabled: true },
  };
  const adapter = storeDigests(await getAdapter(options));
  return betterAuth({ ...options, database: () => adapter });
}

const randomHex = (bytes: number) => randomBytes(bytes).toString("hex");

/** Returns the name under which better-auth's resetPassword searches for the token. */
const resetIdentifier = (token: string) => `reset-password:${token}`;

/** Users distinguish the sessions in their list by the user agent. */
const agentHeaders = ({ userAgent }: Actor) =>
  new Headers(userAgent === undefined ? {} : { "user-agent": userAgent });

function cookieHeaders(cookie: string | undefined): Headers {
  return new Headers(cookie === undefined ? {} : { cookie });
}

/**
 * Converts errors of better-auth to a {@link SignInError}. Any other error is a fault and is thrown
 * unchanged.
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

/** Deletes expired sessions and tokens, which would otherwise accumulate. */
async function forgetExpired(db: Kysely<Tables>): Promise<void> {
  const now = toIso(Date.now());
  await sql`delete from auth_sessions where "expiresAt" < ${now}`.execute(db);
  await sql`delete from auth_tokens where "expiresAt" < ${now}`.execute(db);
}

/** Creates a user without a password for an account that an operator created. */
async function ensureUser(db: Kysely<Tables>, { accountId, email }: Account): Promise<void> {
  const now = toIso(Date.now());
  await sql`insert into auth_users
      ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
    values (${accountId}, ${email}, ${email}, false, ${now}, ${now})
    on conflict do nothing`.execute(db);
}

/**
 * The lowest accepted score. A score of 3 (of at most 4) means more than 10^8 guesses; sign-in
 * allows a few thousand guesses per day.
 */
const scoreMin = 3;
/**
 * The number of characters that are included in an estimate. An estimate blocks the event loop, and
 * its time grows faster than the length.
 */
const estimatedCharactersMax = 40;

let estimator: Promise<Estimator> | undefined;

/**
 * Refuses passwords that attackers can guess soon. Estimates the number of guesses with lists of
 * common passwords, keyboard patterns, dates, and repetitions.
 *
 * @throws {SignInError} `password_guessable`, for example if the password is derived from the
 *   `email`
 */
async function refuseGuessable(password: string, email: string): Promise<void> {
  estimator ??= loadEstimator();
  const { check } = await estimator;
  const isShort = password.length < passwordCharactersMin;
  // better-auth itself refuses a password that is too short or too long.
  if (isShort || password.length > passwordCharactersMax) return;
  const { score } = check(password.slice(0, estimatedCharactersMax), [
    email,
    ...email.split(/[^a-z]+/i),
  ]);
  if (score < scoreMin) throw new SignInError("password_guessable");
}

type Estimator = { check(password: string, own: string[]): { score: number } };

/** Loads half a megabyte of word lists. Called when the first password is set. */
async function loadEstimator(): Promise<Estimator> {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common"),
  ]);
  const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return { check: (password, own) => zxcvbn.check(password, own.filter(Boolean)) };
}
