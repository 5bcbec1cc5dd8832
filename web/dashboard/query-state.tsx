// Shows that data is loading or could not be loaded.

import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { Loading } from "../ui/states.tsx";
import { sayProblem } from "./words/problems.ts";
import { useSpeech } from "./words/speech.ts";

type Query = {
  isPending: boolean;
  isError: boolean;
  error: unknown;
  refetch: () => unknown;
};

/**
 * Shows a placeholder while a query is loading. If the query fails, shows the error and a retry
 * button. Shows nothing after success. `lines` sets the height of the placeholder. If `inCard` is
 * true, the placeholder has its own card.
 */
export function QueryState({ query, lines, inCard = false }: QueryStateProps) {
  const loading = <Loading lines={lines} />;
  return (
    <>
      {query.isPending && (inCard ? <div className="card">{loading}</div> : loading)}
      {query.isError && <Failed query={query} />}
    </>
  );
}

type QueryStateProps = { query: Query; lines: number; inCard?: boolean };

export function Failed({ query }: { query: Pick<Query, "error" | "refetch"> }) {
  const { say } = useSpeech();
  return (
    <div className="p-4">
      <Notice
        tone="bad"
        title={say("didNotLoad")}
        action={
          <Button small onClick={() => void query.refetch()}>
            {say("tryAgain")}
          </Button>
        }
      >
        <p>{sayProblem(query.error, say)}</p>
      </Notice>
    </div>
  );
}
