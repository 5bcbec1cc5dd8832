import { useState } from "react";
import { Icon } from "../../ui/icon.tsx";
import { api } from "../api.ts";
import { Field } from "../parts/field.tsx";
import { useVerdict } from "../queries.ts";
import { Said, useSpeech } from "../words/speech.ts";

/** Would a page of this origin be let in? Asked of the server, against the list it holds. */
export function TryOrigin() {
  const { say } = useSpeech();
  const [origin, setOrigin] = useState("");
  const judged = useVerdict("origin", origin, api.judgeOrigin)?.origin;
  return (
    <section aria-labelledby="try" className="card p-5">
      <h2 id="try" className="mb-3">
        {say("testOrigin")}
      </h2>
      <Field
        label={say("originSent")}
        value={origin}
        onChange={(event) => setOrigin(event.target.value)}
        placeholder="https://shop.example.com"
        dir="ltr"
        inputMode="url"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <div aria-live="polite">
        {judged && (
          <p className={`mt-4 flex gap-2 ${judged.ok ? "text-accent" : "text-danger"}`}>
            <Icon name={judged.ok ? "check" : "cross"} />
            <span className="min-w-0 break-words">
              {judged.ok ? (
                <Said as="allowedBy" entry={<code>{judged.allowedBy}</code>} />
              ) : (
                judged.message
              )}
            </span>
          </p>
        )}
      </div>
    </section>
  );
}
