// Which passwords are refused because they are guessed early: an estimator counts the guesses that
// lists of common passwords, keyboards, dates and repetitions would take.

import { passwordCharactersMax, passwordCharactersMin, SignInError } from "./errors.ts";

/** 3 of 4: more than 10^8 guesses, where sign-in allows a few thousand a day. */
const scoreMin = 3;
/** The estimate takes time that grows faster than the length, and others wait for it. */
const charactersMax = 40;

let loading: Promise<Estimator> | undefined;

/** @throws {SignInError} `password_guessable`, also where it is made of the `email` */
export async function refuseGuessable(password: string, email: string): Promise<void> {
  loading ??= load();
  const { check } = await loading;
  const isShort = password.length < passwordCharactersMin;
  // A password that is too short or too long is refused elsewhere, with a sentence of its own.
  if (isShort || password.length > passwordCharactersMax) return;
  const { score } = check(password.slice(0, charactersMax), [email, ...email.split(/[^a-z]+/i)]);
  if (score < scoreMin) throw new SignInError("password_guessable");
}

type Estimator = { check(password: string, own: string[]): { score: number } };

/** Half a megabyte of lists, read when the first password is chosen. */
async function load(): Promise<Estimator> {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common"),
  ]);
  const estimator = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return { check: (password, own) => estimator.check(password, own.filter(Boolean)) };
}
