// Page headings, and the page for unknown paths.

import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Link } from "wouter";
import { useSpeech } from "./words/speech.ts";

type HeadingProps = { title: string; children?: ReactNode };

/** The title of the current page. Undefined before the first page. */
let current: string | undefined;

/**
 * After navigation, moves the focus to the heading, so that screen readers continue there. On the
 * first page, the focus does not move, so that the keyboard still reaches the skip link first.
 */
export function Heading({ title, children }: HeadingProps) {
  const { say } = useSpeech();
  const heading = useRef<HTMLHeadingElement>(null);
  // The heading must be rendered before it can get the focus. Screen readers announce the title,
  // and then continue from the heading.
  useLayoutEffect(() => {
    document.title = `${title} · ${say("brand")}`;
    const replacesAnother = current !== undefined && current !== title;
    current = title;
    if (replacesAnother) heading.current?.focus({ preventScroll: true });
  }, [title, say]);
  return (
    <div className="mb-6">
      <h1 ref={heading} tabIndex={-1} className="outline-none">
        {title}
      </h1>
      {children && <p className="mt-1 max-w-2xl text-soft">{children}</p>}
    </div>
  );
}

export function NotFound() {
  const { say } = useSpeech();
  return (
    <>
      <Heading title={say("noPage")}>{say("noPageText")}</Heading>
      <Link href="/" className="link">
        {say("toOverview")}
      </Link>
    </>
  );
}
