import { useState } from "react";
import { Field } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { api } from "../api.ts";
import { useVerdict } from "../queries.ts";

/** Would a page of this origin be let in? Asked of the server, against the list it holds. */
export function TryOrigin() {
  const [origin, setOrigin] = useState("");
  const judged = useVerdict("origin", origin, api.judgeOrigin)?.origin;
  return (
    <section aria-labelledby="try" className="card p-5">
      <h2 id="try" className="mb-3">
        Test an origin
      </h2>
      <Field
        label="The Origin a browser sends"
        value={origin}
        onChange={(event) => setOrigin(event.target.value)}
        placeholder="https://shop.example.com"
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
                <>
                  Allowed by <code>{judged.allowedBy}</code>
                </>
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
