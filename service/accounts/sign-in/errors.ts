// Why a sign-up, a sign-in or a change of password is refused. This is the one table of the codes:
// each has its HTTP status and the sentence that the dashboard shows.

export const passwordCharactersMin = 12;
export const passwordCharactersMax = 128;

const refusals = {
  unauthorized: [401, "sign in first"],
  invalid_email_or_password: [401, "no account has this email and password"],
  invalid_email: [400, "this is not an email address"],
  invalid_password: [400, "this is not your present password"],
  password_too_short: [400, `a password has at least ${passwordCharactersMin} characters`],
  password_too_long: [400, `a password has at most ${passwordCharactersMax} characters`],
  password_guessable: [
    400,
    "others try this password early: take words that are not found together",
  ],
  user_already_exists: [409, "there is an account with this email already: sign in instead"],
  invalid_token: [400, "this link was used already or is too old: ask the operator for a new one"],
  signup_closed: [403, "this server takes no new accounts: ask its operator for one"],
} as const;

export type SignInErrorCode = keyof typeof refusals;

export const signInStatuses = Object.fromEntries(
  Object.entries(refusals).map(([code, [status]]) => [code, status]),
) as { [Code in SignInErrorCode]: (typeof refusals)[Code][0] };

export class SignInError extends Error {
  override name = "SignInError";
  readonly code: SignInErrorCode;

  constructor(code: SignInErrorCode) {
    super(refusals[code][1]);
    this.code = code;
  }
}
