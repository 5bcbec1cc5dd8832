import { Heading } from "../heading.tsx";
import { useCredentials } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { ApiKeyCard } from "./api-key.tsx";
import { ClientIdCard } from "./client-id.tsx";

export function CredentialsPage() {
  const credentials = useCredentials();
  return (
    <>
      <Heading title="Credentials">
        Creating an address takes one of the two. Looking one up takes none.
      </Heading>
      <QueryState query={credentials} lines={4} inCard />
      {credentials.data && (
        <div className="space-y-6">
          <ApiKeyCard apiKey={credentials.data.apiKey} clientId={credentials.data.clientId} />
          <ClientIdCard clientId={credentials.data.clientId} />
        </div>
      )}
    </>
  );
}
