import type { ReactNode } from "react";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { ThemeButton } from "../../ui/theme.tsx";
import { Heading } from "../heading.tsx";
import { Brand } from "../shell.tsx";

/** The page around every form that needs no session. */
export function Door({ title, children }: { title: string; children: ReactNode }) {
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
        aria-label="What this is"
        className="hidden items-center border-l border-line bg-surface px-12 lg:flex xl:px-20"
      >
        <Pitch />
      </aside>
    </div>
  );
}

const promises: { icon: IconName; title: string; text: string }[] = [
  {
    icon: "list",
    title: "Write what a payment is for",
    text: "A token, an amount, the contract calls to run, an expiry and where money goes back to.",
  },
  {
    icon: "open",
    title: "Get an address anyone can pay",
    text: "From any wallet or exchange. Whoever knows the address can see what paying it does.",
  },
  {
    icon: "shield",
    title: "It runs as written, once, or the money returns",
    text: "The address is a hash of the words, so nobody has to trust this server.",
  },
];

function Pitch() {
  return (
    <div className="max-w-md">
      <p className="mb-8 text-2xl leading-snug font-semibold text-balance">
        Addresses that know what money sent to them is for.
      </p>
      <ol className="space-y-7">
        {promises.map(({ icon, title, text }) => (
          <li key={title} className="flex gap-4">
            <span className="mt-0.5 h-fit rounded-lg bg-accent-wash p-2 text-accent">
              <Icon name={icon} />
            </span>
            <div>
              <p className="font-medium">{title}</p>
              <p className="text-soft">{text}</p>
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}
