import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import { api } from "../api.ts";
import { PasswordField } from "../parts/field.tsx";
import { passwordCharactersMin, sayProblem } from "../words/problems.ts";
import { useSpeech } from "../words/speech.ts";
import { Door } from "./door.tsx";

/** The one-time token of a reset link, after `#`, so that no server logs it. */
const tokenOfLink = () => new URLSearchParams(window.location.hash.slice(1)).get("token");

export function Reset() {
  const { say } = useSpeech();
  const [token] = useState(tokenOfLink);
  const sending = useMutation({
    mutationFn: (form: FormData) => api.resetPassword(token ?? "", String(form.get("password"))),
    // The token was used, so it is removed from the history.
    onSuccess: () => window.history.replaceState(null, "", "/reset"),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    sending.mutate(new FormData(event.currentTarget));
  };

  if (!token) {
    return (
      <Door title={say("setNewPassword")}>
        <Notice tone="warn" title={say("linkIncomplete")}>
          {say("linkIncompleteText")}
        </Notice>
      </Door>
    );
  }
  if (sending.isSuccess) {
    return (
      <Door title={say("passwordSet")}>
        <Link href="/" className="link">
          {say("signInWithIt")}
        </Link>
      </Door>
    );
  }
  return (
    <Door title={say("setNewPassword")}>
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
    </Door>
  );
}
