import { type ComponentProps, type FormEvent, type ReactNode, useId, useState } from "react";
import { Button } from "./button.tsx";

type Around = { label: string; hint?: ReactNode; error?: string | undefined };
type FieldProps = ComponentProps<"input"> & Around;

/** A labelled input; the hint and the error are read out with it. */
export function Field({ label, hint, error, className = "", ...input }: FieldProps) {
  const id = useId();
  const { fault, watch } = useFault(error);
  return (
    <div className={className}>
      <Label id={id}>{label}</Label>
      <input {...input} {...watch} {...describedBy(id, hint, fault)} className="input" />
      <Below id={id} hint={hint} error={fault} />
    </div>
  );
}

/** Says below the field why the form is not sent, in place of the browser's bubble. */
function useFault(error: string | undefined) {
  const [refused, setRefused] = useState<string>();
  return {
    fault: error ?? refused,
    watch: {
      onInvalid(event: FormEvent<HTMLInputElement>) {
        event.preventDefault();
        const input = event.currentTarget;
        setRefused(sayFault(input));
        if (input.form?.querySelector(":invalid") === input) input.focus();
      },
      onInput: () => setRefused(undefined),
    },
  };
}

function sayFault({ validity, minLength, validationMessage }: HTMLInputElement): string {
  if (validity.valueMissing) return "Fill this in.";
  if (validity.tooShort) return `At least ${minLength} characters.`;
  if (validity.typeMismatch) return "An email address is needed, such as ada@example.com.";
  return validationMessage;
}

export function PasswordField({ label, hint, error, ...input }: FieldProps) {
  const id = useId();
  const [shown, setShown] = useState(false);
  const { fault, watch } = useFault(error);
  return (
    <div>
      <Label id={id}>{label}</Label>
      <div className="relative">
        <input
          {...input}
          {...watch}
          {...describedBy(id, hint, fault)}
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
      <Below id={id} hint={hint} error={fault} />
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
