import { Component, type ReactNode } from "react";
import { Button } from "./button.tsx";
import { Notice } from "./notice.tsx";

/** Our own faults end here, in words, instead of in an empty page. React has no other way. */
export class Boundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <main className="mx-auto max-w-xl px-4 pt-16">
        <h1 className="mb-4">Something went wrong</h1>
        <Notice
          tone="bad"
          action={
            <Button small onClick={() => window.location.reload()}>
              Reload
            </Button>
          }
        >
          <p>This is a fault of the page. Nothing was sent or changed by it.</p>
        </Notice>
      </main>
    );
  }
}
