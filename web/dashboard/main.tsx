// Starts the dashboard: its routes and session. Loads the code of each page.

import "../ui/style.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { type ComponentType, lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { matchRoute, Redirect, Route, Switch, useLocation, useRouter } from "wouter";
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

const pages: Readonly<Record<string, ComponentType<{ params: { address: string } }>>> = {
  "/": Overview,
  "/credentials": CredentialsPage,
  "/origins": OriginsPage,
  "/addresses": AddressesPage,
  "/addresses/new": NewAddressPage,
  "/addresses/:address": AddressPage,
  "/webhooks": WebhooksPage,
  "/activity": ActivityPage,
  "/account": AccountPage,
};
const signInPaths = ["/sign-in", "/sign-up"];
const paths = [...Object.keys(pages), ...signInPaths];

/**
 * Without a session, every page shows the sign-in form instead. After signing in, the user sees the
 * requested page.
 */
function Pages() {
  const [path] = useLocation();
  const { parser } = useRouter();
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
  if (!session.data && !paths.some((each) => matchRoute(parser, each, path)[0])) {
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
          {Object.entries(pages).map(([path, Page]) => (
            <Route<{ address: string }> key={path} path={path} component={Page} />
          ))}
          {signInPaths.map((path) => (
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
