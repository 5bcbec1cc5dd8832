// Notes say what a check cannot promise: somebody may change the answers of a contract before the
// address is paid. That is no fault of the intent, so notes are told apart from findings.

import type { Note } from "executable-address/client";
import type { StatusSubject } from "executable-address/status";
import { type Codes, isProxy } from "./codes.ts";

/** @param isPausable whether the token says if it is paused */
export function notesOf({ intent }: StatusSubject, codes: Codes, isPausable: boolean): Note[] {
  const notes: Note[] = [];
  const isProxied = isProxy(codes.get(intent.token) ?? "0x");
  if (isProxied || isPausable) {
    const what = isProxied ? "a proxy: its issuer can change what it does" : "one that can pause";
    const message = `the token is ${what}; a payment may be answered otherwise than this check`;
    notes.push({ path: ["token"], code: "token_may_change", message });
  }
  const message = "a proxy: its owner can change what this call does before the address is paid";
  intent.calls.forEach(({ target }, index) => {
    if (target === intent.token || !isProxy(codes.get(target) ?? "0x")) return;
    notes.push({ path: ["calls", index, "target"], code: "target_may_change", message });
  });
  return notes;
}
