// The form that adds an entry to a list of URLs or origins.

import type { ComponentProps } from "react";
import { Button } from "../../ui/button.tsx";
import { Field } from "./field.tsx";

type UrlEntryProps = Omit<ComponentProps<typeof Field>, "onChange"> & {
  onType: (text: string) => void;
  /** The button's label, such as "Add origin". */
  action: string;
  busy: boolean;
};

/** A form with one input, for a URL or an origin, and a button. */
export function UrlEntry({ onType, action, busy, ...field }: UrlEntryProps) {
  return (
    <div className="flex flex-wrap items-start gap-3">
      <Field
        {...field}
        className="min-w-0 flex-1 basis-64"
        onChange={(event) => onType(event.target.value)}
        dir="ltr"
        inputMode="url"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <Button type="submit" look="primary" busy={busy} className="sm:mt-7">
        {action}
      </Button>
    </div>
  );
}

/** A button for an empty list. The button moves the focus to the input field for a new entry. */
export const ToEntry = ({ name, children }: { name: string; children: string }) => (
  <Button onClick={() => document.getElementsByName(name)[0]?.focus()}>{children}</Button>
);
