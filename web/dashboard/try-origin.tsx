import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { api } from "./api.ts";
import { useSettled } from "./queries.ts";

/** Would a page of this origin be let in? Asked of the server, against the list it holds. */
export function TryOrigin() {
  const [origin, setOrigin] = useState("");
  const settled = useSettled(origin.trim());
  const verdict = useQuery({
    queryKey: ["origin-verdict", "origin", settled],
    queryFn: ({ signal }) => api.judgeOrigin(settled, signal),
    enabled: settled !== "",
    placeholderData: keepPreviousData,
  });
  const judged = origin.trim() === "" ? undefined : verdict.data?.origin;
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
