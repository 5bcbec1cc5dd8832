import { type KeyboardEvent, useId, useRef, useState } from "react";
import { CopyButton } from "../../ui/copy.tsx";
import { useSpeech } from "../words/speech.ts";

const tab = "button button-bare button-small";

export type Sample = { name: string; text: string };

type SnippetProps = {
  samples: readonly Sample[];
  label: string;
  /** If false, there is no copy button, for example because the code contains a placeholder. */
  canCopy?: boolean;
};

/** Code that can be copied, with one tab per language. */
export function Snippet({ samples, label, canCopy = true }: SnippetProps) {
  const { say } = useSpeech();
  const id = useId();
  const [at, setAt] = useState(0);
  const tabs = useRef<HTMLDivElement>(null);
  const sample = samples[at]!;

  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = (at + step + samples.length) % samples.length;
    setAt(next);
    tabs.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };

  return (
    <div className="overflow-hidden rounded-xl border border-line">
      <div className="flex items-center justify-between gap-2 border-b border-line px-2 py-1.5">
        <div ref={tabs} role="tablist" aria-label={label} className="flex gap-1">
          {samples.map(({ name }, index) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${id}-${index}`}
              aria-selected={index === at}
              aria-controls={`${id}-panel`}
              tabIndex={index === at ? 0 : -1}
              onClick={() => setAt(index)}
              onKeyDown={move}
              className={`${tab} ${index === at ? "bg-sunken !text-ink" : ""}`}
            >
              {name}
            </button>
          ))}
        </div>
        {canCopy && (
          <CopyButton look="bare" text={sample.text} what={say("example", { name: sample.name })}>
            {say("copy")}
          </CopyButton>
        )}
      </div>
      <pre
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${at}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll
        tabIndex={0}
        className="snippet"
      >
        {sample.text}
      </pre>
    </div>
  );
}
