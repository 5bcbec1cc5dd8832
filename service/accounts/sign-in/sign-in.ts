// Who sits at the dashboard: sign-up, sign-in, sessions and passwords. The one file that knows
// better-auth; whatever keeps the promises of SignIn can take its place.
//
// Only its functions are used, never its own HTTP routes: they would answer session tokens in
// bodies and have many paths nobody here needs. Its writes are single statements: a transaction
// held open over them would fail in SQLite whenever a create commits in between.

import { randomBytes } from "node:crypto";
import { APIError, betterAuth } from "better-auth";
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
import { refuseGuessable } from "./password.ts";
import { withSessionDigests } from "./session-digests.ts";

/** Cookies as the browser sent them, and `Set-Cookie` values for the answer. */
type Cookies = { cookie?: string | undefined };
type SetCookies = { setCookies: string[] };
type Login = { email: string; password: string };

export type SignIn = {
  /** @throws {SignInError} `signup_closed`, `user_already_exists`, or what is wrong with them */
  signUp(login: Login, actor: Actor): Promise<SetCookies & { account: Account }>;
  /** @throws {SignInError} `invalid_email_or_password`, whichever it was */
  signIn(login: Login, actor: Actor): Promise<SetCookies & { account: Account }>;
  /** Ends the session of these cookies, if there is one. */
  signOut(cookies: Cookies, actor: Actor): Promise<SetCookies>;
  /** Every other session of the account ends. @throws {SignInError} `invalid_password` */
  changePassword(
    cookies: Cookies,
    change: { currentPassword: string; newPassword: string },
    actor: Actor,
  ): Promise<SetCookies>;
  /** Every session of the account ends. @throws {SignInError} `invalid_token` */
  resetPassword(reset: { token: string; newPassword: string }, actor: Actor): Promise<void>;
  /** Reads the store each time: a session that ended is ended everywhere. */
  findSession(
    cookies: Cookies,
  ): Promise<(SetCookies & { account: Account; sessionId: string }) | undefined>;
  /** A token for one resetPassword within a day; also for an account that never had a password. */
  makeResetToken(email: string, actor: Actor): Promise<string | undefined>;
};

/** Our codes for better-auth's. */
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
const resetTokenMs = 24 * 3600 * 1000;

type SignInOptions = {
  /** Browsers reach the service there; on https the cookie is Secure and named `__Host-`. */
  publicUrl: string;
  signup: "open" | "closed";
  /** Signs session cookies; the same on every server. At least 32 random bytes. */
  secret: string;
};

export async function openSignIn(
  store: Pick<Store, "db" | "dialect">,
  { publicUrl, signup, secret }: SignInOptions,
): Promise<SignIn> {
  const context = { db: store.db, auth: await configure(store, publicUrl, secret) };
  return { ...doors(context, signup), ...sessions(context), ...passwords(context) };
}

type Context = { db: Kysely<Tables>; auth: Awaited<ReturnType<typeof configure>> };

function doors(
  { db, auth }: Context,
  signup: SignInOptions["signup"],
): Pick<SignIn, "signUp" | "signIn"> {
  return {
    async signUp({ email, password }, actor) {
      if (signup === "closed") throw new SignInError("signup_closed");
      if (!isEmail(email)) throw new SignInError("invalid_email");
      // The first stranger to type its email must not claim an operator's account.
      if (await findAccount(db, { email })) throw new SignInError("user_already_exists");
      await refuseGuessable(password, email);
      const body = { name: email, email: normalizeEmail(email), password };
      const { headers, response } = await translate(
        auth.api.signUpEmail({ body, headers: agentHeaders(actor), returnHeaders: true }),
      ).catch(async (error) => {
        // If two sign up at once, the second fails without a reason.
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

function sessions({ db, auth }: Context): Pick<SignIn, "signOut" | "findSession"> {
  return {
    async signOut({ cookie }, actor) {
      const headers = cookieHeaders(cookie);
      const found = await auth.api.getSession({ headers });
      const ended = await auth.api.signOut({ headers, returnHeaders: true });
      if (found) await appendAudit(db, found.user.id, "signed_out", actor);
      return { setCookies: ended.headers.getSetCookie() };
    },

    async findSession({ cookie }) {
      if (cookie === undefined) return undefined;
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
  auth,
}: Context): Pick<SignIn, "changePassword" | "resetPassword" | "makeResetToken"> {
  return {
    async changePassword({ cookie }, change, actor) {
      await refuseGuessable(change.newPassword, "");
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
      const { internalAdapter } = await auth.$context;
      await refuseGuessable(newPassword, "");
      const held = await internalAdapter.findVerificationValue(resetIdentifier(token));
      await translate(auth.api.resetPassword({ body: { token, newPassword } }));
      if (held) await appendAudit(db, held.value, "password_reset", actor);
    },

    async makeResetToken(email, actor) {
      const account = await findAccount(db, { email });
      if (!account) return undefined;
      await ensureUser(db, account);
      const token = randomBytes(24).toString("base64url");
      const { internalAdapter } = await auth.$context;
      await internalAdapter.createVerificationValue({
        value: account.accountId,
        identifier: resetIdentifier(token),
        expiresAt: new Date(Date.now() + resetTokenMs),
      });
      await appendAudit(db, account.accountId, "reset_link_made", actor);
      return token;
    },
  };
}

const isUser = async (db: Kysely<Tables>, email: string) =>
  (await db.selectFrom("auth_users").select("id").where("email", "=", email).execute()).length > 0;

/** A crash between the two writes of a sign-up leaves a user without an account: made here. */
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
  const isSecure = new URL(url).protocol === "https:";
  // Named for us: a browser shares cookies among all ports of a host.
  const cookie = (name: string) => ({
    name: isSecure ? `__Host-${name}` : name,
    attributes: { secure: isSecure, httpOnly: true, sameSite: "strict" as const, path: "/" },
  });
  const options = await withSessionDigests({
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
      // Or it would put `__Secure-` in front of the names below, which promises less.
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
    // Attempts are limited before it is asked, see attempts.ts.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { disabled: true },
  });
  return betterAuth(options);
}

const randomHex = (bytes: number) => randomBytes(bytes).toString("hex");

/** Better-auth's resetPassword looks for it under this name. */
const resetIdentifier = (token: string) => `reset-password:${token}`;

/** A person tells sessions in their list apart by this. */
const agentHeaders = ({ userAgent }: Actor) =>
  new Headers(userAgent === undefined ? {} : { "user-agent": userAgent });

function cookieHeaders(cookie: string | undefined): Headers {
  return new Headers(cookie === undefined ? {} : { cookie });
}

/** Puts better-auth's refusals in our words; any other error is a fault and passes through. */
async function translate<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    const code = codes[error.body?.code ?? ""];
    if (code) throw new SignInError(code);
    if (error.statusCode === 401) throw new SignInError("unauthorized");
    throw error;
  }
}

/** Deletes sessions and tokens that ended: they open nothing, and would pile up. */
async function forgetExpired(db: Kysely<Tables>): Promise<void> {
  const now = toIso(Date.now());
  await sql`delete from auth_sessions where "expiresAt" < ${now}`.execute(db);
  await sql`delete from auth_tokens where "expiresAt" < ${now}`.execute(db);
}

/** Gives an account that an operator made its user of the same id, without a password. */
async function ensureUser(db: Kysely<Tables>, { accountId, email }: Account): Promise<void> {
  const now = toIso(Date.now());
  await sql`insert into auth_users
      ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
    values (${accountId}, ${email}, ${email}, false, ${now}, ${now})
    on conflict do nothing`.execute(db);
}
