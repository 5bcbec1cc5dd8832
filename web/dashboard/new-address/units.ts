/**
 * Base units of an amount as people type it: `12.5` of 6 decimals is `12500000`.
 *
 * @returns undefined for zero, for what is no plain decimal number, and for more decimals than
 *   there are
 */
export function parseUnits(text: string, decimals: number): string | undefined {
  const [, whole, fraction = ""] = /^([0-9]{1,60})(?:\.([0-9]+))?$/.exec(text.trim()) ?? [];
  if (whole === undefined || fraction.length > decimals) return undefined;
  const units = BigInt(whole + fraction.padEnd(decimals, "0"));
  return units === 0n || units >= 2n ** 256n ? undefined : units.toString();
}
