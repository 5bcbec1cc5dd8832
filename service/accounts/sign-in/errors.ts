// Lists the errors of sign-up, sign-in, and password changes, with the dashboard's messages. The
// HTTP statuses are in http/errors.ts.

export const passwordCharactersMin = 12;
export const passwordCharactersMax = 128;

export const signInRefusals = {
  unauthorized: "sign in first",
  invalid_email_or_password: "the email or the password is incorrect",
  invalid_email: "enter a valid email address",
  invalid_password: "the current password is incorrect",
  password_too_short: `use at least ${passwordCharactersMin} characters`,
  password_too_long: `use at most ${passwordCharactersMax} characters`,
  password_guessable: "this password is easy to guess: use several unrelated words",
  user_already_exists: "an account with this email already exists: sign in instead",
  invalid_token: "this link has expired or was already used: ask the operator for a new one",
  signup_closed: "sign-up is closed on this server: ask the operator for an account",
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
