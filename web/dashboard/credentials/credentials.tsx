import { Heading } from "../heading.tsx";
import { useCredentials } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { ApiKeysCard } from "./api-keys.tsx";
import { ClientIdCard } from "./client-id.tsx";
import { ReferenceKeyCard } from "./reference-key.tsx";

export function CredentialsPage() {
  const credentials = useCredentials();
  return (
    <>
      <Heading title="Credentials">
        Creating an address takes an API key or the client ID. Looking one up takes none.
      </Heading>
      <QueryState query={credentials} lines={4} inCard />
      {credentials.data && (
        <div className="space-y-6">
          <ApiKeysCard credentials={credentials.data} />
          <ClientIdCard clientId={credentials.data.clientId} />
          <ReferenceKeyCard referenceKey={credentials.data.referenceKey} />
        </div>
      )}
    </>
  );
}
