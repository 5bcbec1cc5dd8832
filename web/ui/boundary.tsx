import { Component, type ReactNode } from "react";
import { Button } from "./button.tsx";
import { Notice } from "./notice.tsx";
import { useUiSpeech } from "./words/speech.tsx";

/**
 * Shows an error message instead of an empty page. React supports error boundaries only as class
 * components.
 */
export class Boundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return <Broken />;
  }
}

function Broken() {
  const { say } = useUiSpeech();
  return (
    <main className="mx-auto max-w-xl px-4 pt-16">
      <h1 className="mb-4">{say("brokenTitle")}</h1>
      <Notice
        tone="bad"
        action={
          <Button small onClick={() => window.location.reload()}>
            {say("reload")}
          </Button>
        }
      >
        <p>{say("brokenText")}</p>
      </Notice>
    </main>
  );
}
