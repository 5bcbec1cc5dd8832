import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";

type HeadingProps = { title: string; children?: ReactNode };

/** The heading of a page takes the focus when one arrives, so that a reader starts there. */
export function Heading({ title, children }: HeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Not on the first load: there the skip link comes first. Asked before the page is there, or a
  // Tab as it appears would count.
  const isFirst = !navigator.userActivation.hasBeenActive;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the title alone tells pages apart
  useEffect(() => {
    document.title = `${title} · Executable addresses`;
    if (!isFirst) heading.current?.focus({ preventScroll: true });
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
