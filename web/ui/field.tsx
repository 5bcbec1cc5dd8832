import { type ComponentProps, type ReactNode, useId, useState } from "react";
import { Button } from "./button.tsx";

type Around = { label: string; hint?: ReactNode; error?: string | undefined };
type FieldProps = ComponentProps<"input"> & Around;

/** A labelled input; the hint and the error are read out with it. */
export function Field({ label, hint, error, className = "", ...input }: FieldProps) {
  const id = useId();
  return (
    <div className={className}>
      <Label id={id}>{label}</Label>
      <input {...input} {...describedBy(id, hint, error)} className="input" />
      <Below id={id} hint={hint} error={error} />
    </div>
  );
}

export function PasswordField({ label, hint, error, ...input }: FieldProps) {
  const id = useId();
  const [shown, setShown] = useState(false);
  return (
    <div>
      <Label id={id}>{label}</Label>
      <div className="relative">
        <input
          {...input}
          {...describedBy(id, hint, error)}
          type={shown ? "text" : "password"}
          className="input pr-20"
        />
        <Button
          look="bare"
          small
          className="absolute inset-y-1 right-1"
          aria-pressed={shown}
          aria-label={`Show ${label.toLowerCase()}`}
          onClick={() => setShown(!shown)}
        >
          {shown ? "Hide" : "Show"}
        </Button>
      </div>
      <Below id={id} hint={hint} error={error} />
    </div>
  );
}

export function Select({ label, children, ...select }: ComponentProps<"select"> & Around) {
  const id = useId();
  return (
    <div>
      <Label id={id}>{label}</Label>
      <select {...select} id={id} className="input">
        {children}
      </select>
    </div>
  );
}

const describedBy = (id: string, hint: ReactNode, error: string | undefined) => ({
  id,
  "aria-invalid": error !== undefined,
  "aria-describedby": error ? `${id}-error` : hint ? `${id}-hint` : undefined,
});

function Label({ id, children }: { id: string; children: string }) {
  return (
    <label htmlFor={id} className="mb-1 block font-medium">
      {children}
    </label>
  );
}

function Below({ id, hint, error }: { id: string } & Omit<Around, "label">) {
  if (error) {
    return (
      <p id={`${id}-error`} role="alert" className="mt-1.5 text-sm text-danger">
        {error}
      </p>
    );
  }
  if (!hint) return null;
  return (
    <p id={`${id}-hint`} className="mt-1.5 text-sm text-soft">
      {hint}
    </p>
  );
}
