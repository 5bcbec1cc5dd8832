import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Button } from "../../ui/button.tsx";
import { Badge } from "../../ui/notice.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { sayProblem } from "../problems.ts";
import { QueryState } from "../query-state.tsx";
import { request } from "../request.ts";

type Session = {
  id: string;
  createdAt: string;
  renewedAt: string;
  expiresAt: string;
  userAgent: string | null;
  isThis: boolean;
};

const path = "/dashboard/api/sessions";
const queryKey = ["sessions"];

/** Lists where the account is signed in. Ending one takes effect with its next request. */
export function Sessions() {
  const client = useQueryClient();
  const found = useQuery({
    queryKey,
    queryFn: () => request<{ items: Session[] }>("GET", path),
  });
  const ending = useMutation({
    mutationFn: (ids: string[]) =>
      Promise.all(ids.map((id) => request<{ id: string }>("DELETE", path, { id }))),
    onSuccess: ({ length }) => toast(length === 1 ? "Session ended" : `${length} sessions ended`),
    onError: (error) => toast(sayProblem(error)),
    onSettled: () => client.invalidateQueries({ queryKey }),
  });
  const others = (found.data?.items ?? []).filter(({ isThis }) => !isThis).map(({ id }) => id);
  return (
    <section aria-labelledby="sessions" className="card">
      <div className="border-b border-line p-5">
        <h2 id="sessions">Sessions</h2>
        <p className="mt-1 text-soft">
          Where this account is signed in. One you do not know is somebody else: end it, then change
          the password.
        </p>
        {others.length > 1 && (
          <Button
            small
            className="mt-3"
            busy={ending.isPending}
            onClick={() => ending.mutate(others)}
          >
            Sign out everywhere else
          </Button>
        )}
      </div>
      <QueryState query={found} lines={3} />
      {found.data && (
        <Table
          caption="Sessions"
          rows={found.data.items}
          keyOf={({ id }) => id}
          columns={[
            {
              head: "Browser",
              cell: ({ userAgent }) => (
                <bdi title={userAgent ?? undefined}>{sayBrowser(userAgent)}</bdi>
              ),
            },
            { head: "Signed in", cell: ({ createdAt }) => <Time at={createdAt} /> },
            {
              head: "Ends",
              cell: ({ expiresAt }) => (
                <>
                  <span className="sm:hidden">ends </span>
                  <Time at={expiresAt} />
                </>
              ),
            },
            {
              head: "",
              cell: ({ id, isThis, userAgent }) =>
                isThis ? (
                  <Badge>this one</Badge>
                ) : (
                  <Button
                    look="bare"
                    small
                    aria-label={`End the session of ${sayBrowser(userAgent)}`}
                    busy={ending.isPending && ending.variables.includes(id)}
                    onClick={() => ending.mutate([id])}
                  >
                    End
                  </Button>
                ),
            },
          ]}
        />
      )}
    </section>
  );
}

const systems = ["Android", "iPhone", "iPad", "Windows", "Mac OS X", "CrOS", "Linux"];
/** In this order: most call themselves by the names of others too. */
const browsers = ["Firefox", "Edg", "OPR", "Chrome", "Safari"];
const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS" };

/** "Firefox on Windows", as far as what it calls itself tells; else its own words, shortened. */
function sayBrowser(userAgent: string | null): string {
  if (!userAgent) return "Unknown";
  const find = (among: string[]) => among.find((name) => userAgent.includes(name));
  const [browser, system] = [find(browsers), find(systems)];
  if (!browser && !system) return userAgent.slice(0, 40);
  const say = (name: string | undefined) => (name ? (names[name] ?? name) : "Unknown");
  return system ? `${say(browser)} on ${say(system)}` : say(browser);
}
