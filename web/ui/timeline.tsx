export type Moment = { name: string; said: string; seconds: number; isNow?: boolean };

/** Shows what was and what will be in order, and the present among it. */
export function Timeline({ label, moments }: { label: string; moments: readonly Moment[] }) {
  return (
    <ol className="timeline" aria-label={label}>
      {moments
        .toSorted((one, other) => one.seconds - other.seconds)
        .map(({ name, said, isNow }) => (
          <li key={name} aria-current={isNow ? "time" : undefined}>
            <b>{name}</b>
            <span className="text-soft">{said}</span>
          </li>
        ))}
    </ol>
  );
}
