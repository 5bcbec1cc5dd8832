/** One fault of an input: where it is, what kind it is, and what would be right. */
export type Issue = { path: (string | number)[]; code: string; message: string };

/** The input is not what it claims to be; the caller can mend it. Carries every fault found. */
export class InvalidError extends Error {
  readonly issues: Issue[];

  constructor(issues: Issue[]) {
    super(issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; "));
    this.name = "InvalidError";
    this.issues = issues;
  }
}
