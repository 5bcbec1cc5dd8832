// Tests that the dashboard has a text for every sign-in error of the service. The compiler cannot
// check this, because a page cannot import the service's error codes.

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
  test(`sayProblem has a text for ${code}`, () => {
    assert.notEqual(said(code), said("a_code_without_words"));
  });
}

test("the password limits match those of the service", () => {
  assert.equal(pages.passwordCharactersMin, passwordCharactersMin);
  assert.match(said("password_too_short"), new RegExp(`at least ${passwordCharactersMin} `));
  assert.match(said("password_too_long"), new RegExp(`at most ${passwordCharactersMax} `));
});
