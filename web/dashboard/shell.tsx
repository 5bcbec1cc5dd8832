// The layout of the dashboard's pages: navigation, links for developers, and sign-out.

import { onlineManager } from "@tanstack/react-query";
import { isAddress } from "executable-address";
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useState,
  useSyncExternalStore,
} from "react";
import { Link, useLocation } from "wouter";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { ThemeButton } from "../ui/theme.tsx";
import { toast } from "../ui/toast.tsx";
import { type Account, search } from "./api.ts";
import { useConfig, useSignOut } from "./queries.ts";
import { sayProblem } from "./words/problems.ts";
import { useSpeech } from "./words/speech.ts";
import type { Key, Say } from "./words/words.ts";

const pages: { path: string; name: Key; icon: IconName }[] = [
  { path: "/", name: "overview", icon: "overview" },
  { path: "/addresses", name: "addresses", icon: "list" },
  { path: "/webhooks", name: "webhooks", icon: "out" },
  { path: "/credentials", name: "credentials", icon: "key" },
  { path: "/origins", name: "origins", icon: "globe" },
  { path: "/activity", name: "activity", icon: "clock" },
  { path: "/account", name: "account", icon: "person" },
];

/** The layout of every page of a signed-in account: header, menu, and content. */
export function Shell({ account, children }: { account: Account; children: ReactNode }) {
  const [path] = useLocation();
  const { say } = useSpeech();
  const [menuOpen, setMenuOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening a page closes the menu
  useEffect(() => setMenuOpen(false), [path]);

  const added = { path: "/addresses/new", name: "newAddress" } as const;
  const named = [...pages, added].map(({ path, name }) => ({ path, name: say(name) }));
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_1fr] print:block">
      <a href="#content" className="button button-primary sr-only focus:not-sr-only focus:fixed">
        {say("skip")}
      </a>
      <header
        className="border-b border-line bg-surface px-4 py-3 lg:sticky lg:top-0 lg:flex lg:h-dvh
          lg:flex-col lg:border-e lg:border-b-0 lg:py-5 print:hidden"
      >
        <div className="flex items-center justify-between">
          <Brand />
          <div className="flex items-center lg:hidden">
            <ThemeButton />
            <Button
              look="bare"
              small
              aria-expanded={menuOpen}
              aria-controls="menu"
              aria-label={say("menu")}
              onClick={() => setMenuOpen(!menuOpen)}
            >
              <Icon name={menuOpen ? "cross" : "menu"} size={22} />
            </Button>
          </div>
        </div>
        <div
          id="menu"
          className={`${menuOpen ? "flex" : "hidden"} mt-3 flex-1 flex-col lg:mt-6 lg:flex`}
        >
          <nav aria-label={say("pages")} className="flex flex-col gap-0.5">
            {pages.map((page) => (
              <PageLink
                key={page.path}
                {...page}
                name={say(page.name)}
                present={path === page.path || path.startsWith(`${page.path}/`)}
              />
            ))}
          </nav>
          <p className="mt-2">
            <Palette pages={named} />
          </p>
          <Docs />
          <Foot email={account.email} />
        </div>
      </header>
      <main id="content" className="mx-auto w-full max-w-4xl px-4 py-6 sm:px-8 lg:py-10">
        <Offline />
        {children}
      </main>
    </div>
  );
}

export function Brand() {
  const { say } = useSpeech();
  return (
    <Link href="/" className="flex items-center gap-2.5 rounded-md font-semibold">
      <img src="/mark.svg" alt="" width="26" height="26" />
      <span className="leading-tight">{say("brand")}</span>
    </Link>
  );
}

function PageLink(props: { path: string; name: string; icon: IconName; present: boolean }) {
  const look = props.present
    ? "bg-accent-wash text-accent"
    : "text-soft hover:bg-sunken hover:text-ink";
  return (
    <Link
      href={props.path}
      aria-current={props.present ? "page" : undefined}
      className={`flex min-h-10 items-center gap-3 rounded-lg px-3 font-medium ${look}`}
    >
      <Icon name={props.icon} />
      {props.name}
    </Link>
  );
}

/** Links for developers: the documentation and the machine-readable API description. */
function Docs() {
  const { say } = useSpeech();
  const docsUrl = useConfig().data?.docsUrl ?? "/docs";
  return (
    <p className="mt-3 flex flex-col items-start px-3 text-sm">
      <a className="link py-1" href={docsUrl} target="_blank" rel="noreferrer">
        {say("documentation")}
      </a>
      <a className="link py-1" href="/v1/openapi.json" target="_blank" rel="noreferrer">
        OpenAPI
      </a>
    </p>
  );
}

function Foot({ email }: { email: string }) {
  const { say } = useSpeech();
  const leaving = useSignOut();
  const signOut = () =>
    leaving.mutate(undefined, { onError: (error) => toast(sayProblem(error, say)) });
  return (
    <div className="mt-4 border-t border-line pt-4 lg:mt-auto">
      <p className="truncate px-3 text-sm text-soft" title={email}>
        {email}
      </p>
      <div className="mt-1 flex flex-wrap items-center justify-between">
        <Button look="bare" small busy={leaving.isPending} onClick={signOut}>
          <Icon name="out" size={16} />
          {say("signOut")}
        </Button>
        <span className="max-lg:hidden">
          <ThemeButton />
        </span>
      </div>
    </div>
  );
}

/** Warns that the page may be outdated, because queries pause while the browser is offline. */
function Offline() {
  const { say } = useSpeech();
  const online = useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  );
  return (
    <div role="status">
      {!online && <p className="notice notice-warn mb-6">{say("offline")}</p>}
    </div>
  );
}

type Target = { path: string; name: string };

const isMac = /^(Mac|iP)/.test(navigator.platform);

/**
 * A command palette, which opens with Ctrl-K (Command-K on a Mac). The palette finds pages by name,
 * and addresses by their first characters or their reference.
 */
function Palette({ pages }: { pages: readonly Target[] }) {
  const { say } = useSpeech();
  const [open, setOpen] = useState(false);
  const [, navigate] = useLocation();
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  const go = (path: string) => {
    setOpen(false);
    navigate(path);
  };
  return (
    <>
      <Button look="bare" small aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {say("goTo")}… <kbd className="font-sans text-xs">{isMac ? "⌘K" : "Ctrl K"}</kbd>
      </Button>
      <Dialog title={say("goTo")} open={open} onClose={() => setOpen(false)}>
        <Choice pages={pages} onGo={go} />
      </Dialog>
    </>
  );
}

function findTargets(text: string, pages: readonly Target[], say: Say): Target[] {
  const found = pages.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
  if (text === "") return found;
  return [
    ...(isAddress(text)
      ? [{ path: `/addresses/${text}`, name: say("openWhat", { what: text }) }]
      : []),
    ...found,
    { path: `/addresses?${search({ text })}`, name: say("addressesBy", { text }) },
  ];
}

type ChoiceProps = { pages: readonly Target[]; onGo: (path: string) => void };

/** A combobox (WAI-ARIA): the focus stays in the input, and the arrow keys select an option. */
function Choice({ pages, onGo }: ChoiceProps) {
  const { say } = useSpeech();
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const targets = findTargets(text.trim(), pages, say);
  const press = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") onGo(targets[at]!.path);
    if (by === undefined) return;
    event.preventDefault();
    setAt((at + by + targets.length) % targets.length);
  };
  return (
    <>
      <input
        // biome-ignore lint/a11y/noAutofocus: a dialog sets the focus to its input
        autoFocus
        className="input"
        role="combobox"
        aria-label={say("paletteLabel")}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={`${id}-${at}`}
        placeholder={say("palettePlaceholder")}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id={id} role="listbox" aria-label={say("places")} className="mt-3">
        {targets.map(({ path, name }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
          <div
            key={path}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => onGo(path)}
            className={`cursor-pointer rounded-lg px-3 py-2 break-all ${
              index === at ? "bg-accent-wash text-accent" : ""
            }`}
          >
            {name}
          </div>
        ))}
      </div>
    </>
  );
}
