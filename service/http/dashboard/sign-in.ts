// POST /auth/*: sign-up, sign-in, sign-out and passwords, for the dashboard's own pages.

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Account } from "../../accounts/account.ts";
import type { Leave } from "../../accounts/attempts.ts";
import { SignInError } from "../../accounts/sign-in/errors.ts";
import { parseInput } from "../input.ts";
import { overLimit } from "../load/admission.ts";
import type { Parts } from "../parts.ts";
import { openHashing } from "./hashing.ts";
import { actorOf } from "./session.ts";

const deviceSeconds = 365 * 24 * 3600;

/** Some clients send a `name` too; an account has none but its email. */
const loginInput = z.strictObject({
  email: z.string().max(320),
  password: z.string().max(1024),
  name: z.string().optional(),
});
const changeInput = z.strictObject({
  currentPassword: z.string().max(1024),
  newPassword: z.string().max(1024),
  revokeOtherSessions: z.literal(true).optional(),
});
const resetInput = z.strictObject({
  token: z.string().max(200),
  newPassword: z.string().max(1024),
});

type SignInParts = Pick<Parts, "accounts" | "metrics" | "now" | "publicUrl">;

/** The limit comes before the queue for hashing, so a refused attempt hashes nothing. */
export function mountSignIn(app: FastifyInstance, parts: SignInParts): void {
  const { signIn, attempts } = parts.accounts;
  const hashing = openHashing(() => parts.metrics.shed.inc({ route: "sign-in" }));
  const device = deviceCookie(parts.publicUrl);

  const inTurn = <Done>(leave: Leave, run: () => Promise<Done>) => {
    refuseUntil(leave.waitMs);
    return hashing(leave, run);
  };

  const welcome = (
    request: FastifyRequest,
    reply: FastifyReply,
    { account, setCookies }: { account: Account; setCookies: string[] },
  ) => {
    const browser = { email: account.email, deviceCookie: device.get(request) };
    const remembered = device.set(attempts.deviceCookieFor(browser));
    reply.header("set-cookie", [...setCookies, remembered]);
    return { accountId: account.accountId, email: account.email };
  };

  app.post("/sign-up/email", async (request, reply) => {
    const login = parseInput(loginInput, request.body);
    const leave = await attempts.trySignUp(request.ip);
    refuseUntil(leave.waitMs);
    refuseUntil(await attempts.tryNewAccount(request.ip));
    const signUp = () => signIn.signUp(login, actorOf(request, parts));
    return welcome(request, reply, await inTurn(leave, signUp));
  });

  app.post("/sign-in/email", async (request, reply) => {
    const login = parseInput(loginInput, request.body);
    const attempt = { email: login.email, ip: request.ip, deviceCookie: device.get(request) };
    const leave = await attempts.trySignIn(attempt);
    const enter = () => signIn.signIn(login, actorOf(request, parts));
    return welcome(request, reply, await inTurn(leave, enter));
  });

  app.post("/sign-out", async (request, reply) => {
    const { setCookies } = await signIn.signOut(request.headers, actorOf(request, parts));
    reply.header("set-cookie", setCookies);
    return {};
  });

  app.post("/change-password", async (request, reply) => {
    const { currentPassword, newPassword } = parseInput(changeInput, request.body);
    const session = await signIn.findSession(request.headers);
    if (!session) throw new SignInError("unauthorized");
    const { email } = session.account;
    const attempt = { email, ip: request.ip, deviceCookie: device.get(request) };
    const leave = await attempts.trySignIn(attempt);
    const change = { currentPassword, newPassword };
    const actor = actorOf(request, parts);
    const { setCookies } = await inTurn(leave, () =>
      signIn.changePassword(request.headers, change, actor),
    );
    reply.header("set-cookie", setCookies);
    return {};
  });

  app.post("/reset-password", async (request) => {
    const reset = parseInput(resetInput, request.body);
    const leave = await attempts.trySignUp(request.ip);
    await inTurn(leave, () => signIn.resetPassword(reset, actorOf(request, parts)));
    return {};
  });
}

function refuseUntil(waitMs: number): void {
  if (waitMs > 0) throw overLimit("too many attempts", waitMs);
}

/** The cookie by which attempts.ts knows a browser that has signed in before. */
function deviceCookie(publicUrl: string) {
  const isSecure = new URL(publicUrl).protocol === "https:";
  const name = isSecure ? "__Host-eas-device" : "eas-device";
  const attributes = `Path=/; Max-Age=${deviceSeconds}; HttpOnly; SameSite=Strict`;
  return {
    set: (value: string) => `${name}=${value}; ${attributes}${isSecure ? "; Secure" : ""}`,
    get: ({ headers }: FastifyRequest) =>
      headers.cookie
        ?.split(";")
        .map((pair) => pair.trim())
        .find((pair) => pair.startsWith(`${name}=`))
        ?.slice(name.length + 1),
  };
}
