// The account page: password, sessions, and the gas that the executor has spent.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { formatUnits } from "executable-address-element/page";
import type { FormEvent } from "react";
import { Button } from "../../ui/button.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Badge, Notice } from "../../ui/notice.tsx";
import { toast } from "../../ui/toast.tsx";
import { api, type Session } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayChain } from "../money.ts";
import { PasswordField } from "../parts/field.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { queryClient, useConfig, useSession, useSignOut } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { request } from "../request.ts";
import { passwordCharactersMin, sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";
import { type Say, sayMany } from "../words/words.ts";

export function AccountPage() {
  const { say } = useSpeech();
  const account = useSession().data;
  const leaving = useSignOut();
  if (!account) return null;
  return (
    <>
      <Heading title={say("account")} />
      <div className="space-y-6">
        <section className="card p-5" aria-label={say("aboutAccount")}>
          <Definitions
            items={[
              [say("email"), account.email],
              [say("account"), <code key="id">{account.accountId}</code>],
              [say("created"), <Time key="created" at={account.createdAt} />],
            ]}
          />
        </section>
        <ChangePassword />
        <Sessions />
        <GasSpent />
        <section aria-labelledby="leave" className="card p-5">
          <h2 id="leave">{say("signOut")}</h2>
          <p className="mt-1 mb-4 text-soft">{say("signOutText")}</p>
          {leaving.isError && <Notice tone="bad">{sayProblem(leaving.error, say)}</Notice>}
          <Button busy={leaving.isPending} onClick={() => leaving.mutate()}>
            {say("signOut")}
          </Button>
        </section>
      </div>
    </>
  );
}

function ChangePassword() {
  const { say } = useSpeech();
  const change = useMutation({
    mutationFn: (form: FormData) =>
      api.changePassword(String(form.get("present")), String(form.get("next"))),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    change.mutate(new FormData(form), {
      onSuccess: () => {
        form.reset();
        toast(say("event_password_changed"));
        void queryClient.invalidateQueries({ queryKey: ["activity"] });
      },
    });
  };
  return (
    <section aria-labelledby="password" className="card p-5">
      <h2 id="password">{say("changePassword")}</h2>
      <p className="mt-1 mb-4 text-soft">{say("changePasswordText")}</p>
      <form onSubmit={submit} className="max-w-sm space-y-4">
        {change.isError && <Notice tone="bad">{sayProblem(change.error, say)}</Notice>}
        <PasswordField
          label={say("presentPassword")}
          name="present"
          autoComplete="current-password"
          required
        />
        <PasswordField
          label={say("newPassword")}
          name="next"
          autoComplete="new-password"
          minLength={passwordCharactersMin}
          required
          hint={say("atLeastCharacters", { n: passwordCharactersMin })}
        />
        <Button type="submit" look="primary" busy={change.isPending}>
          {say("changePassword")}
        </Button>
      </form>
    </section>
  );
}

/** The native coin of every listed chain has 18 decimals. */
const sayWei = (wei: string) => formatUnits(wei, 18);

/**
 * Shows the gas costs of this account's addresses by day and chain. Costs that are covered by tips
 * do not count toward the executor's budgets.
 */
function GasSpent() {
  const { say } = useSpeech();
  const account = useQuery({ queryKey: ["account"], queryFn: api.account });
  const rows = account.data?.gasSpent ?? [];
  const chains = useConfig().data?.chains ?? [];
  return (
    <section aria-labelledby="gas" className="card">
      <div className="border-b border-line p-5">
        <h2 id="gas">{say("gasSpent")}</h2>
        {account.data && (
          <p className="mt-1 text-soft">{say(rows.length === 0 ? "noGas" : "gasText")}</p>
        )}
      </div>
      <QueryState query={account} lines={2} />
      {rows.length > 0 && (
        <Table
          caption={say("gasCaption")}
          rows={rows}
          keyOf={({ day, chainId }) => `${day} ${chainId}`}
          columns={[
            { head: say("day"), cell: ({ day }) => day },
            { head: say("chain"), cell: (row) => sayChain(row, chains, say) },
            { head: say("gas"), cell: ({ gasWei }) => sayWei(gasWei) },
            { head: say("paidByTips"), cell: ({ tipsWei }) => sayWei(tipsWei) },
            { head: say("notCovered"), cell: ({ wei }) => sayWei(wei) },
            { head: say("byClientId"), cell: ({ clientIdWei }) => sayWei(clientIdWei) },
            { head: say("failedTips"), cell: ({ failedTipsWei }) => sayWei(failedTipsWei) },
          ]}
        />
      )}
    </section>
  );
}

const path = "/dashboard/api/sessions";
const queryKey = ["sessions"];

/**
 * Lists the account's sessions, with buttons that end them. The server rejects requests of an ended
 * session.
 */
function Sessions() {
  const { say } = useSpeech();
  const client = useQueryClient();
  const found = useQuery({
    queryKey,
    queryFn: () => request<{ items: Session[] }>("GET", path),
  });
  const ending = useMutation({
    mutationFn: (ids: string[]) =>
      Promise.all(ids.map((id) => request<{ id: string }>("DELETE", path, { id }))),
    onSuccess: ({ length }) => toast(sayMany(say, "sessionsEnded", length)),
    onError: (error) => toast(sayProblem(error, say)),
    onSettled: () => client.invalidateQueries({ queryKey }),
  });
  const others = (found.data?.items ?? []).filter(({ isThis }) => !isThis).map(({ id }) => id);
  return (
    <section aria-labelledby="sessions" className="card">
      <div className="border-b border-line p-5">
        <h2 id="sessions">{say("sessions")}</h2>
        <p className="mt-1 text-soft">{say("sessionsText")}</p>
        {others.length > 1 && (
          <Button
            small
            className="mt-3"
            busy={ending.isPending}
            onClick={() => ending.mutate(others)}
          >
            {say("signOutElsewhere")}
          </Button>
        )}
      </div>
      <QueryState query={found} lines={3} />
      {found.data && (
        <SessionTable
          sessions={found.data.items}
          ending={ending.isPending ? ending.variables : []}
          onEnd={(id) => ending.mutate([id])}
        />
      )}
    </section>
  );
}

type SessionTableProps = {
  sessions: readonly Session[];
  /** The IDs of the sessions that are currently being ended. */
  ending: readonly string[];
  onEnd: (id: string) => void;
};

function SessionTable({ sessions, ending, onEnd }: SessionTableProps) {
  const { say } = useSpeech();
  return (
    <Table
      caption={say("sessions")}
      rows={sessions}
      keyOf={({ id }) => id}
      columns={[
        {
          head: say("browser"),
          cell: ({ userAgent }) => (
            <bdi title={userAgent ?? undefined}>{sayBrowser(userAgent, say)}</bdi>
          ),
        },
        { head: say("signedIn"), cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          head: say("ends"),
          cell: ({ expiresAt }) => (
            <>
              <span className="max-sm:hidden">
                <Time at={expiresAt} />
              </span>
              <span className="sm:hidden">
                <Said as="endsWhen" when={<Time at={expiresAt} />} />
              </span>
            </>
          ),
        },
        {
          head: "",
          cell: ({ id, isThis, userAgent }) =>
            isThis ? (
              <Badge>{say("thisOne")}</Badge>
            ) : (
              <Button
                look="bare"
                small
                aria-label={say("endSessionOf", { browser: sayBrowser(userAgent, say) })}
                busy={ending.includes(id)}
                onClick={() => onEnd(id)}
              >
                {say("end")}
              </Button>
            ),
        },
      ]}
    />
  );
}

const systems = ["Android", "iPhone", "iPad", "Windows", "Mac OS X", "CrOS", "Linux"];
/** The order matters, because most browsers also claim to be other browsers. */
const browsers = ["Firefox", "Edg", "OPR", "Chrome", "Safari"];
const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS" };

/**
 * Returns a text such as "Firefox on Windows". If neither the browser nor the system is recognized,
 * returns the first 40 characters of the user agent.
 */
function sayBrowser(userAgent: string | null, say: Say): string {
  if (!userAgent) return say("unknown");
  const find = (among: string[]) => among.find((name) => userAgent.includes(name));
  const [browser, system] = [find(browsers), find(systems)];
  if (!browser && !system) return userAgent.slice(0, 40);
  const nameOf = (name: string | undefined) => (name ? (names[name] ?? name) : say("unknown"));
  if (!system) return nameOf(browser);
  return say("browserOn", { browser: nameOf(browser), system: nameOf(system) });
}
