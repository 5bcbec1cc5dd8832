// Form fields with hints and errors that screen readers announce.

import {
  type ChangeEvent,
  type ComponentProps,
  type FormEvent,
  type ReactNode,
  useId,
  useState,
} from "react";
import { Button } from "../../ui/button.tsx";
import { useSpeech } from "../words/speech.ts";
import type { Say } from "../words/words.ts";

type Around = { label: string; hint?: ReactNode; error?: string | undefined };
type FieldProps = ComponentProps<"input"> & Around;

/** An input with a label. Screen readers announce its hint and error. */
export function Field({ label, hint, error, className = "", ...input }: FieldProps) {
  const id = useId();
  const { fault, watch } = useFault(error, input.onChange);
  return (
    <div className={className}>
      <Label id={id}>{label}</Label>
      <input {...input} {...watch} {...describedBy(id, hint, fault)} className="input" />
      <Below id={id} hint={hint} error={fault} />
    </div>
  );
}

/**
 * Shows a field's error below the field instead of in the browser's own popup. A single listener
 * clears the error and calls `onChange`. With two listeners, a rendering between the two would show
 * the input's old value.
 */
function useFault(error: string | undefined, onChange: FieldProps["onChange"]) {
  const { say } = useSpeech();
  const [refused, setRefused] = useState<string>();
  return {
    fault: error ?? refused,
    watch: {
      onInvalid(event: FormEvent<HTMLInputElement>) {
        event.preventDefault();
        const input = event.currentTarget;
        setRefused(sayFault(input, say));
        // Selects only inputs, because a fieldset with an invalid input also matches `:invalid`.
        if (input.form?.querySelector("input:invalid") === input) input.focus();
      },
      onChange(event: ChangeEvent<HTMLInputElement>) {
        setRefused(undefined);
        onChange?.(event);
      },
    },
  };
}

/**
 * Returns the message in the language of the page. The browser's message would be in the language
 * of the browser.
 */
function sayFault({ validity, type, minLength, min, max }: HTMLInputElement, say: Say): string {
  if (validity.tooShort) return say("atLeastCharacters", { n: minLength });
  if (validity.typeMismatch) return say("emailNeeded");
  if (type === "number") return say("wholeNumberNeeded", { min, max });
  return say(type === "radio" ? "chooseOne" : "fillIn");
}

export function PasswordField({ label, hint, error, ...input }: FieldProps) {
  const id = useId();
  const { say } = useSpeech();
  const [shown, setShown] = useState(false);
  const { fault, watch } = useFault(error, input.onChange);
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

type ChoicesProps = {
  legend: string;
  name: string;
  value: string;
  onChange: FieldProps["onChange"];
  of: readonly { id: string; name: string; text: string }[];
  /** More fields, which are shown if this option is chosen. */
  children?: ReactNode;
};

/** A required choice between a few options, each with an explanation. */
export function Choices({ legend, name, value, onChange, of, children }: ChoicesProps) {
  const id = useId();
  const { fault, watch } = useFault(undefined, onChange);
  return (
    <fieldset className="space-y-2">
      <legend className="mb-1 font-medium">{legend}</legend>
      {of.map((choice) => (
        <label key={choice.id} className="flex items-start gap-3 rounded-lg border border-line p-3">
          <input
            {...watch}
            aria-describedby={fault && `${id}-error`}
            type="radio"
            name={name}
            className="mt-1"
            value={choice.id}
            checked={value === choice.id}
            required
          />
          <span>
            <span className="block font-medium">{choice.name}</span>
            <span className="block text-sm text-soft">{choice.text}</span>
          </span>
        </label>
      ))}
      <Below id={id} error={fault} />
      {children}
    </fieldset>
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
