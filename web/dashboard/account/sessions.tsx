import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Button } from "../../ui/button.tsx";
import { Badge } from "../../ui/notice.tsx";
import { toast } from "../../ui/toast.tsx";
import type { Session } from "../api.ts";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { QueryState } from "../query-state.tsx";
import { request } from "../request.ts";
import { sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";
import type { Say } from "../words/words.ts";
import { sayMany } from "../words/words.ts";

const path = "/dashboard/api/sessions";
const queryKey = ["sessions"];

/** Lists the account's sessions. A session that is ended stops working at its next request. */
export function Sessions() {
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
  /** The IDs of the sessions that are being ended. */
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
/** Checked in this order, because most browsers also claim the names of others. */
const browsers = ["Firefox", "Edg", "OPR", "Chrome", "Safari"];
const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS" };

/** Returns "Firefox on Windows" from a known user agent, or else the shortened user agent. */
function sayBrowser(userAgent: string | null, say: Say): string {
  if (!userAgent) return say("unknown");
  const find = (among: string[]) => among.find((name) => userAgent.includes(name));
  const [browser, system] = [find(browsers), find(systems)];
  if (!browser && !system) return userAgent.slice(0, 40);
  const nameOf = (name: string | undefined) => (name ? (names[name] ?? name) : say("unknown"));
  if (!system) return nameOf(browser);
  return say("browserOn", { browser: nameOf(browser), system: nameOf(system) });
}
