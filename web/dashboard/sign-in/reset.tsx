import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { PasswordField } from "../../ui/field.tsx";
import { Notice } from "../../ui/notice.tsx";
import { api } from "../api.ts";
import { sayProblem } from "../problems.ts";
import { Door } from "./door.tsx";
import { passwordCharactersMin } from "./sign-in.tsx";

/** The one-time token of a link an operator printed, `/reset#token=…`: no server logs it. */
const tokenOfLink = () => new URLSearchParams(window.location.hash.slice(1)).get("token");

export function Reset() {
  const [token] = useState(tokenOfLink);
  const sending = useMutation({
    mutationFn: (form: FormData) => api.resetPassword(token ?? "", String(form.get("password"))),
    // The token is spent: it need not stay in the history.
    onSuccess: () => window.history.replaceState(null, "", "/reset"),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    sending.mutate(new FormData(event.currentTarget));
  };

  if (!token) {
    return (
      <Door title="Set a new password">
        <Notice tone="warn" title="This link is not complete">
          Open the whole link the operator of this server gave you.
        </Notice>
      </Door>
    );
  }
  if (sending.isSuccess) {
    return (
      <Door title="The new password holds">
        <Link href="/" className="link">
          Sign in with it
        </Link>
      </Door>
    );
  }
  return (
    <Door title="Set a new password">
      <form onSubmit={submit} className="space-y-4">
        {sending.isError && <Notice tone="bad">{sayProblem(sending.error)}</Notice>}
        <PasswordField
          label="New password"
          name="password"
          autoComplete="new-password"
          minLength={passwordCharactersMin}
          required
          hint={`At least ${passwordCharactersMin} characters. A sentence is fine.`}
        />
        <Button type="submit" look="primary" busy={sending.isPending} className="w-full">
          Set password
        </Button>
      </form>
    </Door>
  );
}
