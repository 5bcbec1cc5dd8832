// Sends requests to the server. All errors are of type {@link Problem}.

export type Issue = { path: (string | number)[]; code: string; message: string };

/** An error from the server, or `unreachable` (status 0) if there was no response. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly issues: Issue[];

  constructor(status: number, code: string, message: string, issues: Issue[] = []) {
    super(message);
    this.name = "Problem";
    this.status = status;
    this.code = code;
    this.issues = issues;
  }
}

/** @throws {Problem} unless the response is a 2xx with JSON or without a body */
export async function request<Body>(
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Body> {
  const sent = await fetch(path, {
    method,
    credentials: "same-origin",
    ...(signal && { signal }),
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "no answer");
  });
  const answer = await sent.json().catch(() => null);
  if (!sent.ok) throw toProblem(sent.status, answer);
  return answer as Body;
}

type Refused = { error?: { code: string; message: string; issues: Issue[] } };

const toProblem = (status: number, answer: Refused | null) => {
  const { code = "unknown", message = "", issues } = answer?.error ?? {};
  return new Problem(status, code, message, issues);
};
