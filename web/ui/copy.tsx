import { useRef, useState } from "react";
import { Button, type ButtonProps } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { useUiSpeech } from "./words/speech.tsx";

type CopyProps = ButtonProps & { text: string; what: string };
type Outcome = "copied" | "refused";
const shownMs = 2500;

/**
 * Copies `text`. `what` describes the text, such as "API key". The button announces the result
 * without a toast. While a dialog is open, screen readers do not announce a toast outside the
 * dialog.
 */
export function CopyButton({ text, what, children, ...button }: CopyProps) {
  const { say } = useUiSpeech();
  const [outcome, setOutcome] = useState<Outcome>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  const copy = async () => {
    // The clipboard exists only on https and localhost, and the browser may deny access.
    const done = await Promise.resolve()
      .then(() => navigator.clipboard.writeText(text))
      .then(
        () => "copied" as const,
        () => "refused" as const,
      );
    setOutcome(done);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setOutcome(undefined), shownMs);
  };

  return (
    <>
      <Button small {...button} aria-label={say("copyWhat", { what })} onClick={copy}>
        <Icon
          name={outcome === "copied" ? "check" : outcome === "refused" ? "cross" : "copy"}
          size={16}
        />
        {children}
      </Button>
      <span role="status" className={outcome === "refused" ? "text-sm text-danger" : "sr-only"}>
        {outcome === "copied" && say("whatCopied", { what })}
        {outcome === "refused" && say("copyRefused")}
      </span>
    </>
  );
}
