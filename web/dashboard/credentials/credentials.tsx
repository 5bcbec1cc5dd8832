import { Failed, Loading } from "../../ui/states.tsx";
import { Heading } from "../heading.tsx";
import { sayProblem } from "../problems.ts";
import { useCredentials } from "../queries.ts";
import { ApiKeyCard } from "./api-key.tsx";
import { ClientIdCard } from "./client-id.tsx";

export function CredentialsPage() {
  const credentials = useCredentials();
  return (
    <>
      <Heading title="Credentials">
        Creating an address takes one of the two. Looking one up takes none.
      </Heading>
      {credentials.isPending && (
        <div className="card">
          <Loading lines={4} />
        </div>
      )}
      {credentials.isError && (
        <Failed
          message={sayProblem(credentials.error)}
          onRetry={() => void credentials.refetch()}
        />
      )}
      {credentials.data && (
        <div className="space-y-6">
          <ApiKeyCard apiKey={credentials.data.apiKey} clientId={credentials.data.clientId} />
          <ClientIdCard clientId={credentials.data.clientId} />
        </div>
      )}
    </>
  );
}
