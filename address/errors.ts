// Tells what is wrong with an input, all at once, by an InvalidError. Options of a wrong type are a
// TypeError; what a chain or a service did not show has errors of its own, beside who asks it.

/** From the input's root: field names and array indices, as in `["calls", 0, "args", 1]`. */
export type Path = (string | number)[];

/** One fault of an input: where it is, what kind it is, and what would be right. */
export type Issue = { path: Path; code: string; message: string };

/** An issue of a place that is known from elsewhere. */
export type Fault = Omit<Issue, "path">;

/** The input is not what it claims to be; the caller can mend it. Carries every fault found. */
export class InvalidError extends Error {
  readonly issues: Issue[];

  constructor(issues: Issue[]) {
    super(issues.map(lineOf).join("; "));
    this.name = "InvalidError";
    this.issues = issues;
  }
}

/** One line: the path of a fault, if it has one, and the fault. */
export function lineOf({ path, message }: Issue): string {
  return path.length > 0 ? `${path.join(".")}: ${message}` : message;
}

/** Faults gathered while an input is walked; `path` is where the walk stands. */
export type Faults = { readonly issues: Issue[]; readonly path: Path };

/** Enough to mend any honest input; an input made of faults costs no more than this to answer. */
const issuesMax = 100;

export const noFaults = (path: Path = []): Faults => ({ issues: [], path: [...path] });

/** Notes a fault where the walk stands, or at `deeper` below it. */
export function addFault(faults: Faults, code: string, message: string, ...deeper: Path): void {
  if (faults.issues.length < issuesMax)
    faults.issues.push({ path: [...faults.path, ...deeper], code, message });
}

/** {@link addFault} for each. */
export function addFaults(faults: Faults, found: readonly Fault[]): void {
  for (const { code, message } of found) addFault(faults, code, message);
}

/** @throws {InvalidError} if anything was refused */
export function throwFaults(faults: Faults): void {
  if (faults.issues.length > 0) throw new InvalidError(faults.issues);
}

/** Gives what `read` gives, or undefined and its faults, under `field`. */
export function gather<T>(faults: Faults, field: string | number, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    for (const { code, message, path } of error.issues)
      addFault(faults, code, message, field, ...path);
    return undefined;
  }
}

/** Names the kind of a value, for messages: never the value itself, which may be hostile. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === undefined) return "nothing";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** `text` in quotes if it is short and plain enough to stand in a message, else undefined. */
export function quoted(text: string): string | undefined {
  return text.length <= 200 && /^[ -~]*$/.test(text) ? `"${text}"` : undefined;
}

/** Tells in a message what was found: a number, text that may be {@link quoted}, or the kind. */
export function plainOf(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? (quoted(value) ?? "other text") : kindOf(value);
}
