import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { Field, PasswordField } from "../../ui/field.tsx";
import { Notice } from "../../ui/notice.tsx";
import { api } from "../api.ts";
import { sayProblem } from "../problems.ts";
import { queryClient, useConfig, useSessionEnded } from "../queries.ts";
import { Door } from "./door.tsx";

export const passwordCharactersMin = 12;

export function SignIn() {
  const ended = useSessionEnded();
  const config = useConfig();
  return (
    <Door title="Sign in">
      {ended && <Notice tone="warn">Your session has ended. Sign in to go on.</Notice>}
      <EmailForm
        action="Sign in"
        send={api.signIn}
        autoComplete="current-password"
        hint={undefined}
      />
      <p className="text-sm text-soft">
        {config.data?.signup === "closed" ? (
          "This server takes no new accounts. "
        ) : (
          <>
            New here?{" "}
            <Link href="/sign-up" className="link">
              Create an account
            </Link>
            .{" "}
          </>
        )}
        Forgot the password? The operator of this server can print you a reset link.
      </p>
    </Door>
  );
}

export function SignUp() {
  const config = useConfig();
  return (
    <Door title="Create an account">
      {config.data?.signup === "closed" ? (
        <Notice tone="warn">
          This server takes no new accounts. Ask its operator to create one for you.
        </Notice>
      ) : (
        <EmailForm
          action="Create account"
          send={api.signUp}
          autoComplete="new-password"
          hint={`At least ${passwordCharactersMin} characters. A sentence is fine.`}
        />
      )}
      <p className="text-sm text-soft">
        Have one already?{" "}
        <Link href="/" className="link">
          Sign in
        </Link>
        .
      </p>
    </Door>
  );
}

type EmailFormProps = {
  action: string;
  send: (email: string, password: string) => Promise<unknown>;
  autoComplete: "new-password" | "current-password";
  hint: string | undefined;
};

function EmailForm({ action, send, autoComplete, hint }: EmailFormProps) {
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
      {sending.isError && <Notice tone="bad">{sayProblem(sending.error)}</Notice>}
      <Field label="Email" name="email" type="email" autoComplete="username" required />
      <PasswordField
        label="Password"
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
