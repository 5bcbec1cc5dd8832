import { Failed, Loading } from "../ui/states.tsx";
import { sayProblem } from "./problems.ts";

type Query = {
  isPending: boolean;
  isError: boolean;
  error: unknown;
  refetch: () => unknown;
};

/**
 * A query that has not answered yet, or why it failed and a button to try again; nothing once it
 * has answered. `lines` of the placeholder; `inCard` where it stands on the page by itself.
 */
export function QueryState({ query, lines, inCard = false }: QueryStateProps) {
  const loading = <Loading lines={lines} />;
  return (
    <>
      {query.isPending && (inCard ? <div className="card">{loading}</div> : loading)}
      {query.isError && (
        <Failed message={sayProblem(query.error)} onRetry={() => void query.refetch()} />
      )}
    </>
  );
}

type QueryStateProps = { query: Query; lines: number; inCard?: boolean };
