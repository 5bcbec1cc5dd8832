import type { ReactNode } from "react";

/** Shows a list of names and values. On narrow screens, the values are below the names. */
export function Definitions({ items }: { items: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid gap-x-6 gap-y-1 sm:grid-cols-[max-content_1fr] sm:gap-y-2.5">
      {items.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="mt-2 text-soft sm:mt-0">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
