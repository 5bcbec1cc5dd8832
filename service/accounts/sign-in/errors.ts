// Why a sign-up, a sign-in, or a change of password is refused: each code and the sentence that the
// dashboard shows. http/errors.ts has the statuses.

export const passwordCharactersMin = 12;
export const passwordCharactersMax = 128;

export const signInRefusals = {
  unauthorized: "sign in first",
  invalid_email_or_password: "no account has this email and password",
  invalid_email: "this is not an email address",
  invalid_password: "this is not your present password",
  password_too_short: `a password has at least ${passwordCharactersMin} characters`,
  password_too_long: `a password has at most ${passwordCharactersMax} characters`,
  password_guessable: "others try this password early: take words that are not found together",
  user_already_exists: "there is an account with this email already: sign in instead",
  invalid_token: "this link was used already or is too old: ask the operator for a new one",
  signup_closed: "this server takes no new accounts: ask its operator for one",
} as const;

export type SignInErrorCode = keyof typeof signInRefusals;

export class SignInError extends Error {
  override name = "SignInError";
  readonly code: SignInErrorCode;

  constructor(code: SignInErrorCode) {
    super(signInRefusals[code]);
    this.code = code;
  }
}
