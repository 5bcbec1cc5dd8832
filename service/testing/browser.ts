// Simulates a browser that uses the dashboard. The browser stores cookies, and sends an `Origin`
// header.

import assert from "node:assert/strict";
import type { TestApp } from "./app.ts";

export const password = "correct horse battery staple";

export type Browser = ReturnType<typeof openBrowser>;

let browsers = 0;

/**
 * Opens a browser with its own IP address, so that browsers do not share rate limits.
 * @param more additional headers for every request, for example another `origin`
 * @param remoteAddress the browser's IP address, for tests with several browsers in one network
 */
export function openBrowser(
  service: TestApp,
  more: Record<string, string> = {},
  remoteAddress = `2001:db8:${(browsers++).toString(16)}::1`,
) {
  const jar = new Map<string, string>();
  const ask = async (method: "GET" | "POST" | "DELETE", url: string, body?: object) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await service.app.inject({
      method,
      url,
      remoteAddress,
      headers: {
        ...(method !== "GET" && { origin: service.parts.publicUrl }),
        ...(cookie && { cookie }),
        ...more,
      },
      ...(body && { payload: body }),
    });
    for (const line of [answer.headers["set-cookie"] ?? []].flat()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "" || /Max-Age=0/.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  };
  return {
    jar,
    ask,
    get: (url: string) => ask("GET", url),
    post: (url: string, body: object) => ask("POST", url, body),
    delete: (url: string, body: object) => ask("DELETE", url, body),
    signUp: (email: string, word = password) =>
      ask("POST", "/auth/sign-up/email", { email, password: word }),
    signIn: (email: string, word = password) =>
      ask("POST", "/auth/sign-in/email", { email, password: word }),
  };
}

type Answer = { statusCode: number; json(): { error: { code: string } } };

/** Checks the status and the error code of a response. */
export function refuses(answer: Answer, status: number, code: string): void {
  assert.equal(answer.statusCode, status, JSON.stringify(answer.json()));
  assert.equal(answer.json().error.code, code);
}
