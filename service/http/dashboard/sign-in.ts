// Serves POST /auth/* for the dashboard's pages: sign-up, sign-in, sign-out, and password changes
// and resets. A password hash is the most expensive work that a client without an account can
// cause. Therefore, requests that compute a hash wait for a turn (`openHashing`).

import { availableParallelism } from "node:os";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Account } from "../../accounts/account.ts";
import type { Leave } from "../../accounts/attempts.ts";
import { SignInError } from "../../accounts/sign-in/errors.ts";
import { daySeconds } from "../../flow/days.ts";
import { readActor } from "../authorize/authorize.ts";
import { type Refusal, unavailable } from "../errors.ts";
import { parseInput } from "../input.ts";
import { overLimit } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";

const deviceSeconds = 365 * daySeconds;

/** Some clients send a `name`, which is ignored because an account has only an email address. */
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

/**
 * Mounts the routes. The limits of attempts.ts are checked before a request enters the queue. So no
 * password hash is computed for a refused attempt.
 */
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
    const signUp = () => signIn.signUp(login, readActor(request, parts));
    return welcome(request, reply, await inTurn(leave, signUp));
  });

  app.post("/sign-in/email", async (request, reply) => {
    const login = parseInput(loginInput, request.body);
    const attempt = { email: login.email, ip: request.ip, deviceCookie: device.get(request) };
    const leave = await attempts.trySignIn(attempt);
    const enter = () => signIn.signIn(login, readActor(request, parts));
    return welcome(request, reply, await inTurn(leave, enter));
  });

  app.post("/sign-out", async (request, reply) => {
    const { setCookies } = await signIn.signOut(request.headers, readActor(request, parts));
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
    const actor = readActor(request, parts);
    const { setCookies } = await inTurn(leave, () =>
      signIn.changePassword(request.headers, change, actor),
    );
    reply.header("set-cookie", setCookies);
    return {};
  });

  app.post("/reset-password", async (request) => {
    const reset = parseInput(resetInput, request.body);
    const leave = await attempts.trySignUp(request.ip);
    await inTurn(leave, () => signIn.resetPassword(reset, readActor(request, parts)));
    return {};
  });
}

function refuseUntil(waitMs: number): void {
  if (waitMs > 0) throw overLimit("too many attempts", waitMs);
}

/**
 * Returns functions that set and read the device cookie. With this cookie, attempts.ts recognizes a
 * browser that has signed in before.
 */
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

/**
 * The maximum number of threads for hashes. Node computes hashes in its pool of four threads. The
 * fourth thread remains free to read files and resolve host names.
 */
const threadsMax = 3;
const runningMaxByDefault = Math.max(1, Math.min(threadsMax, availableParallelism() - 1));
/**
 * The maximum number of waiting hashes in a queue (`max`), and per account or network (`eachMax`).
 */
const knownPlaces: Places = { max: 64, eachMax: 4, owners: "account" };
const strangersPlaces: Places = { max: 32, eachMax: 8, owners: "network" };
const strangersEvery = 4;

type Places = { max: number; eachMax: number; owners: "account" | "network" };
type Turn = () => void;

type Hashing = <Done>(leave: Omit<Leave, "waitMs">, run: () => Promise<Done>) => Promise<Done>;

/**
 * Opens two queues for password hashes, for known and unknown browsers. A known browser has signed
 * in before. Runs a few hashes simultaneously. If the machine has several cores, one core is left
 * for the API.
 *
 * The queue for known browsers has priority. But if both queues have entries, every fourth hash
 * comes from the queue for unknown browsers. In the queue for known browsers, each hash belongs to
 * an account. In the queue for unknown browsers, each hash belongs to a client network. In each
 * queue, the accounts or networks take turns. The number of waiting hashes per account or network
 * is limited. So `openGate`, whose only queue is in order of arrival, cannot replace these queues.
 *
 * @param onShed called for each request that is refused because its queue is full
 * @returns a function that throws {@link Refusal} 503 `service_unavailable` if the queue is full
 */
export function openHashing(onShed: () => void, runningMax = runningMaxByDefault): Hashing {
  let [running, turns] = [0, 0];
  const known = openLine(knownPlaces);
  const strangers = openLine(strangersPlaces);
  const takeNext = (): Turn | undefined => {
    turns += 1;
    const isStrangers = turns % strangersEvery === 0;
    const [first, second] = isStrangers ? [strangers, known] : [known, strangers];
    return first.takeNext() ?? second.takeNext();
  };
  return async ({ isKnown, turnOf }, run) => {
    const line = isKnown ? known : strangers;
    const full = line.findFull(turnOf);
    if (full) {
      onShed();
      throw unavailable(`too many sign-ins are waiting: ${full}; try again in a second`, 1);
    }
    if (running < runningMax) running += 1;
    else await new Promise<void>((turn) => line.add(turnOf, turn));
    try {
      return await run();
    } finally {
      const next = takeNext();
      if (next) next();
      else running -= 1;
    }
  };
}

/**
 * Opens a queue that serves the owners of its entries in turn. The first owner in the map is served
 * next, and then moves to the end.
 */
function openLine({ max, eachMax, owners }: Places) {
  const waiting = new Map<string, Turn[]>();
  let count = 0;
  return {
    /** Returns a message if the queue is full, or if `owner` has too many waiting hashes. */
    findFull(owner: string): string | undefined {
      if (count >= max) return `expected at most ${max}, found ${count + 1}`;
      const own = waiting.get(owner)?.length ?? 0;
      if (own < eachMax) return undefined;
      return `expected at most ${eachMax} per ${owners}, found ${own + 1}`;
    },
    add(owner: string, turn: Turn): void {
      count += 1;
      waiting.set(owner, [...(waiting.get(owner) ?? []), turn]);
    },
    takeNext(): Turn | undefined {
      for (const [owner, [turn, ...rest]] of waiting) {
        count -= 1;
        waiting.delete(owner);
        if (rest.length > 0) waiting.set(owner, rest);
        return turn;
      }
      return undefined;
    },
  };
}
