import type { ReactNode } from "react";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { ThemeButton } from "../../ui/theme.tsx";
import { Heading } from "../heading.tsx";
import { Brand } from "../shell.tsx";
import { useSpeech } from "../words/speech.ts";
import type { Key } from "../words/words.ts";

/** The frame of every form that needs no session. */
export function Door({ title, children }: { title: string; children: ReactNode }) {
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
