// The forms that need no session: sign in, sign up, and reset the password.

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Notice } from "../ui/notice.tsx";
import { ThemeButton } from "../ui/theme.tsx";
import { api } from "./api.ts";
import { Heading } from "./heading.tsx";
import { Field, PasswordField } from "./parts/field.tsx";
import { queryClient, useConfig, useSessionEnded } from "./queries.ts";
import { Brand } from "./shell.tsx";
import { passwordCharactersMin, sayProblem } from "./words/problems.ts";
import { Said, useSpeech } from "./words/speech.ts";
import type { Key } from "./words/words.ts";

export function SignIn() {
  const { say } = useSpeech();
  const ended = useSessionEnded();
  const config = useConfig();
  return (
    <SignedOutPage title={say("signIn")}>
      {ended && <Notice tone="warn">{say("sessionEnded")}</Notice>}
      <EmailForm
        action={say("signIn")}
        send={api.signIn}
        autoComplete="current-password"
        hint={undefined}
      />
      <p className="text-sm text-soft">
        {config.data?.signup === "closed" ? (
          say("signupClosed")
        ) : (
          <Said
            as="newHere"
            link={
              <Link href="/sign-up" className="link">
                {say("createAnAccount")}
              </Link>
            }
          />
        )}{" "}
        {say("forgotPassword")}
      </p>
    </SignedOutPage>
  );
}

export function SignUp() {
  const { say } = useSpeech();
  const config = useConfig();
  return (
    <SignedOutPage title={say("createAnAccount")}>
      {config.data?.signup === "closed" ? (
        <Notice tone="warn">{say("signupClosedAsk")}</Notice>
      ) : (
        <EmailForm
          action={say("createAccount")}
          send={api.signUp}
          autoComplete="new-password"
          hint={say("passwordHint", { n: passwordCharactersMin })}
        />
      )}
      <p className="text-sm text-soft">
        <Said
          as="haveOne"
          link={
            <Link href="/" className="link">
              {say("signIn")}
            </Link>
          }
        />
      </p>
    </SignedOutPage>
  );
}

type EmailFormProps = {
  action: string;
  send: (email: string, password: string) => Promise<unknown>;
  autoComplete: "new-password" | "current-password";
  hint: string | undefined;
};

function EmailForm({ action, send, autoComplete, hint }: EmailFormProps) {
  const { say } = useSpeech();
  const sending = useMutation({
    mutationFn: (form: FormData) =>
      send(String(form.get("email")).trim(), String(form.get("password"))),
    onSuccess: () => {
      queryClient.setQueryData(["session-ended"], false);
      return queryClient.invalidateQueries({ queryKey: ["session"] });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    sending.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      {sending.isError && <Notice tone="bad">{sayProblem(sending.error, say)}</Notice>}
      <Field label={say("email")} name="email" type="email" autoComplete="username" required />
      <PasswordField
        label={say("password")}
        name="password"
        autoComplete={autoComplete}
        required
        hint={hint}
        {...(hint && { minLength: passwordCharactersMin })}
      />
      <Button type="submit" look="primary" busy={sending.isPending} className="w-full">
        {action}
      </Button>
    </form>
  );
}

/**
 * Returns the one-time token of a password reset link. The token is in the URL's fragment, so that
 * no server logs the token.
 */
const tokenOfLink = () => new URLSearchParams(window.location.hash.slice(1)).get("token");

export function Reset() {
  const { say } = useSpeech();
  const [token] = useState(tokenOfLink);
  const sending = useMutation({
    mutationFn: (form: FormData) => api.resetPassword(token ?? "", String(form.get("password"))),
    // Removes the used token from the browser's history.
    onSuccess: () => window.history.replaceState(null, "", "/reset"),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    sending.mutate(new FormData(event.currentTarget));
  };

  if (!token) {
    return (
      <SignedOutPage title={say("setNewPassword")}>
        <Notice tone="warn" title={say("linkUnusable")}>
          {say("linkUnusableText")}
        </Notice>
      </SignedOutPage>
    );
  }
  if (sending.isSuccess) {
    return (
      <SignedOutPage title={say("passwordSet")}>
        <Link href="/" className="link">
          {say("signInWithIt")}
        </Link>
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage title={say("setNewPassword")}>
      <form onSubmit={submit} className="space-y-4">
        {sending.isError && <Notice tone="bad">{sayProblem(sending.error, say)}</Notice>}
        <PasswordField
          label={say("newPassword")}
          name="password"
          autoComplete="new-password"
          minLength={passwordCharactersMin}
          required
          hint={say("passwordHint", { n: passwordCharactersMin })}
        />
        <Button type="submit" look="primary" busy={sending.isPending} className="w-full">
          {say("setPassword")}
        </Button>
      </form>
    </SignedOutPage>
  );
}

/** The layout of every form that needs no session. */
function SignedOutPage({ title, children }: { title: string; children: ReactNode }) {
  const { say } = useSpeech();
  return (
    <div className="grid min-h-dvh lg:grid-cols-[1fr_1.1fr]">
      <div className="flex flex-col px-4 py-5 sm:px-8">
        <header className="flex items-center justify-between">
          <Brand />
          <ThemeButton />
        </header>
        <main className="mx-auto my-auto w-full max-w-sm py-10">
          <Heading title={title} />
          <div className="space-y-5">{children}</div>
        </main>
      </div>
      <aside
        aria-label={say("whatThisIs")}
        className="hidden items-center border-s border-line bg-surface px-12 lg:flex xl:px-20"
      >
        <Pitch />
      </aside>
    </div>
  );
}

const promises: { icon: IconName; title: Key; text: Key }[] = [
  {
    icon: "list",
    title: "promiseWrite",
    text: "promiseWriteText",
  },
  {
    icon: "open",
    title: "promiseGet",
    text: "promiseGetText",
  },
  {
    icon: "shield",
    title: "promiseRun",
    text: "promiseRunText",
  },
];

function Pitch() {
  const { say } = useSpeech();
  return (
    <div className="max-w-md">
      <p className="mb-8 text-2xl leading-snug font-semibold text-balance">{say("pitch")}</p>
      <ol className="space-y-7">
        {promises.map(({ icon, title, text }) => (
          <li key={title} className="flex gap-4">
            <span className="mt-0.5 h-fit rounded-lg bg-accent-wash p-2 text-accent">
              <Icon name={icon} />
            </span>
            <div>
              <p className="font-medium">{say(title)}</p>
              <p className="text-soft">{say(text)}</p>
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}
