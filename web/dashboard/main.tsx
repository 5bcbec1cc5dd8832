// Starts the dashboard: its routes and session. Loads the code of each page.

import "../ui/style.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { Boundary } from "../ui/boundary.tsx";
import { Loading } from "../ui/states.tsx";
import { Toasts } from "../ui/toast.tsx";
import { AccountPage } from "./account/account.tsx";
import { ActivityPage } from "./activity.tsx";
import { AddressesPage } from "./addresses/page.tsx";
import { CredentialsPage } from "./credentials/credentials.tsx";
import { NotFound } from "./heading.tsx";
import { OriginsPage } from "./origins/origins.tsx";
import { Overview } from "./overview/overview.tsx";
import { queryClient, useSession } from "./queries.ts";
import { Failed } from "./query-state.tsx";
import { Shell } from "./shell.tsx";
import { Reset, SignIn, SignUp } from "./sign-in.tsx";

/** The code of these pages is loaded separately, so that the sign-in form appears sooner. */
const AddressPage = lazy(async () => ({
  default: (await import("./addresses/detail.tsx")).AddressPage,
}));
const NewAddressPage = lazy(async () => ({
  default: (await import("./new-address/page.tsx")).NewAddressPage,
}));
const WebhooksPage = lazy(async () => ({
  default: (await import("./webhooks/page.tsx")).WebhooksPage,
}));

export function App() {
  return (
    <>
      <Pages />
      <Toasts />
    </>
  );
}

const paths = [
  ...["/credentials", "/origins", "/addresses", "/addresses/new", "/webhooks"],
  ...["/activity", "/account"],
];
const isPage = (path: string) =>
  ["/", "/sign-in", "/sign-up", ...paths].includes(path) || /^\/addresses\/[^/]+$/.test(path);

/**
 * Without a session, every page shows the sign-in form instead. After signing in, the user sees the
 * requested page.
 */
function Pages() {
  const [path] = useLocation();
  const session = useSession();

  if (path === "/reset") return <Reset />;
  if (session.isPending) return <Loading />;
  if (session.isError) {
    return (
      <main className="mx-auto max-w-xl pt-16">
        <Failed query={session} />
      </main>
    );
  }
  if (!session.data && !isPage(path)) {
    return (
      <main className="mx-auto max-w-xl px-4 pt-16">
        <NotFound />
      </main>
    );
  }
  if (!session.data) return path === "/sign-up" ? <SignUp /> : <SignIn />;
  return (
    <Shell account={session.data}>
      <Suspense fallback={<Loading />}>
        <Switch>
          <Route path="/" component={Overview} />
          <Route path="/credentials" component={CredentialsPage} />
          <Route path="/origins" component={OriginsPage} />
          <Route path="/addresses" component={AddressesPage} />
          <Route path="/addresses/new" component={NewAddressPage} />
          <Route path="/addresses/:address">{(params) => <AddressPage params={params} />}</Route>
          <Route path="/webhooks" component={WebhooksPage} />
          <Route path="/activity" component={ActivityPage} />
          <Route path="/account" component={AccountPage} />
          {["/sign-in", "/sign-up"].map((path) => (
            <Route key={path} path={path}>
              <Redirect to="/" replace />
            </Route>
          ))}
          <Route component={NotFound} />
        </Switch>
      </Suspense>
    </Shell>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Boundary>
        <App />
      </Boundary>
    </QueryClientProvider>
  </StrictMode>,
);
