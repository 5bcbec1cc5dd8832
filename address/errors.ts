// Reports all faults of an input together, in an InvalidError. An option of the wrong type throws a
// TypeError instead. Errors about a chain or a service are defined in the file that sends the
// requests.

/** Field names and array indices from the root of the input, such as `["calls", 0, "args", 1]`. */
export type Path = (string | number)[];

/** A fault of an input: its position, its kind, and what would be valid. */
export type Issue = { path: Path; code: string; message: string };

/** An issue without its path. */
export type Fault = Omit<Issue, "path">;

/**
 * The input is invalid, and the caller can correct it. `issues` lists at most {@link issuesMax}
 * faults.
 */
export class InvalidError extends Error {
  readonly issues: Issue[];

  constructor(issues: Issue[]) {
    super(issues.map(formatIssue).join("; "));
    this.name = "InvalidError";
    this.issues = issues;
  }
}

/** Formats a fault as one line: `calls[0].args[1]: expected …`. */
export function formatIssue({ path, message }: Issue): string {
  const place = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
  return path.length > 0 ? `${place.replace(/^\./, "")}: ${message}` : message;
}

/**
 * The faults found so far, and the path of the value that is being checked. Readers and writers
 * push and pop the path themselves, so that they need no callback for each value.
 */
export type Faults = { readonly issues: Issue[]; readonly path: Path };

/**
 * The maximum number of faults that an error lists. A malicious input can have many more faults, so
 * the limit bounds the work.
 */
export const issuesMax = 100;

export const noFaults = (path: Path = []): Faults => ({ issues: [], path: [...path] });

/** Adds a fault at the current path, extended by `deeper`. */
export function addFault(faults: Faults, code: string, message: string, ...deeper: Path): void {
  if (faults.issues.length < issuesMax)
    faults.issues.push({ path: [...faults.path, ...deeper], code, message });
}

/** Adds each fault at the current path, extended by `deeper` and the fault's own path. */
export function addFaults(
  faults: Faults,
  found: readonly (Fault & Partial<Issue>)[],
  ...deeper: Path
): void {
  for (const { code, message, path = [] } of found)
    addFault(faults, code, message, ...deeper, ...path);
}

/** @throws {InvalidError} if there are faults */
export function throwFaults(faults: Faults): void {
  if (faults.issues.length > 0) throw new InvalidError(faults.issues);
}

/**
 * Calls `read` and returns its result. If `read` throws an InvalidError, adds its faults, with
 * `field` before their paths, and returns undefined.
 */
export function gather<T>(faults: Faults, field: string | number, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    addFaults(faults, error.issues, field);
    return undefined;
  }
}

/** Describes the type of a value for a message. Does not show the value, which may be hostile. */
export function describeType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === undefined) return "nothing";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The maximum length of quoted text. People cannot compare longer texts. */
export const quotedLengthMax = 200;

/** Quotes `text` for a message if it is short printable ASCII, else returns undefined. */
export function quoted(text: string): string | undefined {
  return text.length <= quotedLengthMax && /^[ -~]*$/.test(text) ? `"${text}"` : undefined;
}

/** Describes a value for a message: a number, {@link quoted} text, or its type. */
export function describeValue(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? (quoted(value) ?? "other text") : describeType(value);
}

/** Describes a value that may be secret: a number, the length of text, or the type. */
export function describeLength(value: unknown): string {
  return typeof value === "string" ? `${value.length} characters` : describeValue(value);
}

/** Exactly the field names of a type. The compiler refuses a list that lacks a name or adds one. */
export type NamesOf<Given> = Readonly<Record<Given extends unknown ? keyof Given : never, 1>>;

/** @throws {TypeError} that names the first field of `given` that is not in `known` */
export function refuseUnknown<Given extends object>(
  given: Given,
  known: NamesOf<NoInfer<Given>>,
  what: "option" | "field",
): void {
  const names = Object.keys(known);
  const wrong = Object.keys(given).find((name) => !names.includes(name));
  if (wrong !== undefined)
    throw new TypeError(
      `${wrong.slice(0, 64)}: unknown ${what}, expected one of ${names.join(", ")}`,
    );
}
