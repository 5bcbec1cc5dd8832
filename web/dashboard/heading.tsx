import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";

type HeadingProps = { title: string; children?: ReactNode };

/** The title of the page the reader is on, once there is one. */
let presentTitle: string | undefined;

/**
 * A page that takes another's place takes the focus, so that a reader starts at its heading. The
 * first one leaves it where it is: there the skip link comes first.
 */
export function Heading({ title, children }: HeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Executable addresses`;
    const takesAnothersPlace = presentTitle !== undefined && presentTitle !== title;
    presentTitle = title;
    if (takesAnothersPlace) heading.current?.focus({ preventScroll: true });
  }, [title]);
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
  return (
    <>
      <Heading title="There is no such page">The address in the bar may be mistyped.</Heading>
      <Link href="/" className="link">
        Go to the overview
      </Link>
    </>
  );
}
