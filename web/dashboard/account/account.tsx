import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { Button } from "../../ui/button.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Notice } from "../../ui/notice.tsx";
import { toast } from "../../ui/toast.tsx";
import { api } from "../api.ts";
import { Heading } from "../heading.tsx";
import { PasswordField } from "../parts/field.tsx";
import { Time } from "../parts/time.tsx";
import { endSession, queryClient, useSession } from "../queries.ts";
import { passwordCharactersMin, sayProblem } from "../words/problems.ts";
import { useSpeech } from "../words/speech.ts";
import { GasSpent } from "./gas.tsx";
import { Sessions } from "./sessions.tsx";

export function AccountPage() {
  const { say } = useSpeech();
  const account = useSession().data;
  const leaving = useMutation({ mutationFn: api.signOut, onSuccess: () => endSession("left") });
  if (!account) return null;
  return (
    <>
      <Heading title={say("account")} />
      <div className="space-y-6">
        <section className="card p-5" aria-label={say("aboutAccount")}>
          <Definitions
            items={[
              [say("email"), account.email],
              [say("account"), <code key="id">{account.accountId}</code>],
              [say("created"), <Time key="created" at={account.createdAt} />],
            ]}
          />
        </section>
        <ChangePassword />
        <Sessions />
        <GasSpent />
        <section aria-labelledby="leave" className="card p-5">
          <h2 id="leave">{say("signOut")}</h2>
          <p className="mt-1 mb-4 text-soft">{say("signOutText")}</p>
          {leaving.isError && <Notice tone="bad">{sayProblem(leaving.error, say)}</Notice>}
          <Button busy={leaving.isPending} onClick={() => leaving.mutate()}>
            {say("signOut")}
          </Button>
        </section>
      </div>
    </>
  );
}

function ChangePassword() {
  const { say } = useSpeech();
  const change = useMutation({
    mutationFn: (form: FormData) =>
      api.changePassword(String(form.get("present")), String(form.get("next"))),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    change.mutate(new FormData(form), {
      onSuccess: () => {
        form.reset();
        toast(say("event_password_changed"));
        void queryClient.invalidateQueries({ queryKey: ["activity"] });
      },
    });
  };
  return (
    <section aria-labelledby="password" className="card p-5">
      <h2 id="password">{say("changePassword")}</h2>
      <p className="mt-1 mb-4 text-soft">{say("changePasswordText")}</p>
      <form onSubmit={submit} className="max-w-sm space-y-4">
        {change.isError && <Notice tone="bad">{sayProblem(change.error, say)}</Notice>}
        <PasswordField
          label={say("presentPassword")}
          name="present"
          autoComplete="current-password"
          required
        />
        <PasswordField
          label={say("newPassword")}
          name="next"
          autoComplete="new-password"
          minLength={passwordCharactersMin}
          required
          hint={say("atLeastCharacters", { n: passwordCharactersMin })}
        />
        <Button type="submit" look="primary" busy={change.isPending}>
          {say("changePassword")}
        </Button>
      </form>
    </section>
  );
}
