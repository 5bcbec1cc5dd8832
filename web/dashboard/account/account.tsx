import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { Button } from "../../ui/button.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { PasswordField } from "../../ui/field.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { api } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayProblem } from "../problems.ts";
import { endSession, queryClient, useSession } from "../queries.ts";
import { passwordCharactersMin } from "../sign-in/sign-in.tsx";
import { GasSpent } from "./gas.tsx";
import { Sessions } from "./sessions.tsx";

export function AccountPage() {
  const account = useSession().data;
  const leaving = useMutation({ mutationFn: api.signOut, onSuccess: () => endSession("left") });
  if (!account) return null;
  return (
    <>
      <Heading title="Account" />
      <div className="space-y-6">
        <section className="card p-5" aria-label="About this account">
          <Definitions
            items={[
              ["Email", account.email],
              ["Account", <code key="id">{account.accountId}</code>],
              ["Created", <Time key="created" at={account.createdAt} />],
            ]}
          />
        </section>
        <ChangePassword />
        <Sessions />
        <GasSpent rows={account.gasSpent} />
        <section aria-labelledby="leave" className="card p-5">
          <h2 id="leave">Sign out</h2>
          <p className="mt-1 mb-4 text-soft">Ends the session in this browser.</p>
          {leaving.isError && <Notice tone="bad">{sayProblem(leaving.error)}</Notice>}
          <Button busy={leaving.isPending} onClick={() => leaving.mutate()}>
            Sign out
          </Button>
        </section>
      </div>
    </>
  );
}

function ChangePassword() {
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
        toast("Password changed");
        void queryClient.invalidateQueries({ queryKey: ["activity"] });
      },
    });
  };
  return (
    <section aria-labelledby="password" className="card p-5">
      <h2 id="password">Change password</h2>
      <p className="mt-1 mb-4 text-soft">Ends every other session of this account.</p>
      <form onSubmit={submit} className="max-w-sm space-y-4">
        {change.isError && <Notice tone="bad">{sayProblem(change.error)}</Notice>}
        <PasswordField
          label="Present password"
          name="present"
          autoComplete="current-password"
          required
        />
        <PasswordField
          label="New password"
          name="next"
          autoComplete="new-password"
          minLength={passwordCharactersMin}
          required
          hint={`At least ${passwordCharactersMin} characters.`}
        />
        <Button type="submit" look="primary" busy={change.isPending}>
          Change password
        </Button>
      </form>
    </section>
  );
}
