// The operations for sign-in, accounts, credentials, and rate limits.

import { randomBytes } from "node:crypto";
import { createAccount, findAccount, findCredentials } from "../../../accounts/account.ts";
import { addApiKey, rotateApiKey, wholeKey } from "../../../accounts/api-keys.ts";
import { listAudit } from "../../../accounts/audit.ts";
import { rotateClientId } from "../../../accounts/client-ids.ts";
import { confirmName, findName } from "../../../accounts/names.ts";
import { openAccounts } from "../../../accounts/open.ts";
import {
  addOrigin,
  listOrigins,
  removeOrigin,
  setOrigins,
} from "../../../accounts/origins/origin-list.ts";
import { endSession, listSessions } from "../../../accounts/sign-in/sessions.ts";
import { listUsage } from "../../../accounts/usage.ts";
import { accounts, began } from "../account.ts";
import { actor, type Operations, type World } from "./world.ts";

/** The names of operations that run once. */
export const closeAccounts = "accounts: close";
export const signInOnce = "sign-in: run every operation of one person";

export async function people({ store, nowMs, crowd }: World): Promise<Operations> {
  const { db } = store;
  const { many } = accounts;
  const fail = (error: unknown) => {
    throw error;
  };
  const config = { publicUrl: "https://pay.example", signup: "open" as const };
  const { signIn, usage, limiter, holders, close } = await openAccounts(store, config, {
    onLimiterFault: fail,
    onUsageFault: fail,
  });
  const digests = Array.from({ length: crowd }, () => randomBytes(32));
  return {
    [signInOnce]: () => signInAndOut(signIn, db),
    "sign-in: list sessions": () => listSessions(db, many, nowMs),
    "account: create, name, and add credentials and origins": () => furnishAccount(db),
    "account: list the audit log": () => listAudit(db, many, { cursor: "a9", limit: 50 }),
    "account: list the usage of 92 days": () => listUsage(db, many, began),
    "credentials: find many credentials simultaneously": () =>
      Promise.all(
        digests
          .slice(0, crowd / 2)
          .flatMap((digest) => [holders.findApiKey(digest), holders.findClientId(digest)]),
      ),
    "credentials: count the use of many credentials": async () => {
      digests.forEach((digest, at) => {
        const use = { accountId: `acc_${at}`, kind: "apiKey" as const, atMs: nowMs };
        usage.count({ ...use, digest }, "created");
        usage.seenInBrowser(digest, nowMs);
      });
      await usage.flush();
    },
    "limits: take a request for each of many keys": () =>
      Promise.all(
        Array.from({ length: crowd }, (_, at) =>
          limiter.take(`key ${at}`, { name: "key", intervalMs: 1, burst: 10 }),
        ),
      ),
    [closeAccounts]: async () => {
      await close();
    },
  };
}

type Db = World["store"]["db"];
type SignIn = Awaited<ReturnType<typeof openAccounts>>["signIn"];

/** Runs all sign-in operations for one person, from the sign-up to the last session's end. */
async function signInAndOut(signIn: SignIn, db: Db): Promise<void> {
  const login = {
    email: `${randomBytes(6).toString("hex")}@example.com`,
    password: "a long password",
  };
  const { account } = await signIn.signUp(login, actor);
  const cookies = cookieOf(await signIn.signIn(login, actor));
  const session = await signIn.findSession(cookies);
  const newPassword = "another password";
  await signIn.changePassword(cookies, { currentPassword: login.password, newPassword }, actor);
  const token = await signIn.makeResetSecret(login.email, actor);
  await signIn.resetPassword({ token: token!, newPassword: login.password }, actor);
  await signIn.signOut(cookieOf(await signIn.signIn(login, actor)), actor);
  await endSession(db, account.accountId, session!.sessionId, actor);
}

const cookieOf = ({ setCookies }: { setCookies: string[] }) => ({
  cookie: setCookies.map((each) => each.split(";")[0]).join("; "),
});

async function furnishAccount(db: Db): Promise<void> {
  const made = await createAccount(db, `${randomBytes(6).toString("hex")}@x.example`, actor);
  const { accountId } = made!;
  await findAccount(db, { email: made!.email });
  for (const name of ["Shop", undefined]) await confirmName(db, accountId, name, actor);
  await findName(db, accountId);
  const { prefix } = (await addApiKey(db, accountId, wholeKey, actor))!;
  await rotateApiKey(db, accountId, prefix, actor);
  const { clientId } = await findCredentials(db, accountId);
  await rotateClientId(db, accountId, clientId.client_id, actor);
  await addOrigin(db, accountId, "https://a.example", actor);
  await removeOrigin(db, accountId, "https://a.example", actor);
  await setOrigins(db, accountId, ["https://b.example"], actor);
  await listOrigins(db, accountId);
}
