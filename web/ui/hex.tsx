/** An address, shortened in the middle for the eye; whole for a reader, a hover and a copy. */
export function ShortHex({ hex }: { hex: string }) {
  return (
    <span className="font-mono text-[0.875em]" title={hex}>
      <span aria-hidden="true">
        {hex.slice(0, 8)}…{hex.slice(-6)}
      </span>
      <span className="sr-only">{hex}</span>
    </span>
  );
}
