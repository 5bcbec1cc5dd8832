// The service's codes of a sign-in in the dashboard's words. A page imports no code of the service,
// so this holds the two together.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  passwordCharactersMax,
  passwordCharactersMin,
  signInRefusals,
} from "../../../service/accounts/sign-in/errors.ts";
import { sayWith } from "../../ui/words/languages.ts";
import { Problem } from "../request.ts";
import * as pages from "./problems.ts";
import { en } from "./words.ts";

const said = (code: string) =>
  pages.sayProblem(new Problem(400, code, "only in English"), sayWith(en));

for (const code of Object.keys(signInRefusals)) {
  test(`${code} has a sentence`, () => {
    assert.notEqual(said(code), said("a_code_without_words"));
  });
}

test("a password's bounds are those of the service, in the hint and in the refusals", () => {
  assert.equal(pages.passwordCharactersMin, passwordCharactersMin);
  assert.match(said("password_too_short"), new RegExp(`at least ${passwordCharactersMin} `));
  assert.match(said("password_too_long"), new RegExp(`at most ${passwordCharactersMax} `));
});
