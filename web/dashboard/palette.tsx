import { isAddress } from "executable-address";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { search } from "./api.ts";
import { useSpeech } from "./words/speech.ts";
import type { Say } from "./words/words.ts";

type Target = { path: string; name: string };

const isMac = /^(Mac|iP)/.test(navigator.platform);

/**
 * Opens with Ctrl-K (Command-K on a Mac), and finds pages, and addresses by digits or reference.
 */
export function Palette({ pages }: { pages: readonly Target[] }) {
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

/** A combobox (WAI-ARIA): the focus stays in the field, and the arrow keys select an option. */
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
        // biome-ignore lint/a11y/noAutofocus: a dialog puts the focus where one types
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
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and the keys
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
