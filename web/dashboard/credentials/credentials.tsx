import { Heading } from "../heading.tsx";
import { useCredentials } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { useSpeech } from "../words/speech.ts";
import { ApiKeysCard } from "./api-keys.tsx";
import { ClientIdCard } from "./client-id.tsx";
import { ReferenceKeyCard } from "./reference-key.tsx";

export function CredentialsPage() {
  const { say } = useSpeech();
  const credentials = useCredentials();
  return (
    <>
      <Heading title={say("credentials")}>{say("credentialsText")}</Heading>
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
