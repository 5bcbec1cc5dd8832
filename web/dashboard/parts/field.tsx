import { type ComponentProps, type FormEvent, type ReactNode, useId, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { useSpeech } from "../words/speech.ts";
import type { Say } from "../words/words.ts";

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
  const { say } = useSpeech();
  const [refused, setRefused] = useState<string>();
  return {
    fault: error ?? refused,
    watch: {
      onInvalid(event: FormEvent<HTMLInputElement>) {
        event.preventDefault();
        const input = event.currentTarget;
        setRefused(sayFault(input, say));
        if (input.form?.querySelector(":invalid") === input) input.focus();
      },
      onInput: () => setRefused(undefined),
    },
  };
}

function sayFault({ validity, minLength, validationMessage }: HTMLInputElement, say: Say): string {
  if (validity.valueMissing) return say("fillIn");
  if (validity.tooShort) return say("atLeastCharacters", { n: minLength });
  if (validity.typeMismatch) return say("emailNeeded");
  return validationMessage;
}

export function PasswordField({ label, hint, error, ...input }: FieldProps) {
  const id = useId();
  const { say } = useSpeech();
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
          className="input pe-20"
        />
        <Button
          look="bare"
          small
          className="absolute inset-y-1 end-1"
          aria-pressed={shown}
          aria-label={say("showWhat", { what: label })}
          onClick={() => setShown(!shown)}
        >
          {say(shown ? "hide" : "show")}
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
