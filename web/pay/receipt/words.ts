// The texts of a receipt. The script contains all six languages, because a saved receipt makes no
// requests.

import type { LanguageTag } from "executable-address-element/page";
import { makeSpeaking, makeSpeech } from "../../ui/words/speech.tsx";
import { loadPartWords, uiWords, type Words } from "../../ui/words/ui-words.ts";
import ar from "./words/ar.json" with { type: "json" };
import de from "./words/de.json" with { type: "json" };
import en from "./words/en.json" with { type: "json" };
import es from "./words/es.json" with { type: "json" };
import fr from "./words/fr.json" with { type: "json" };
import zh from "./words/zh.json" with { type: "json" };

type ReceiptKey = keyof typeof en;
const catalogues: Readonly<Record<LanguageTag, Words<ReceiptKey>>> = { en, es, fr, de, ar, zh };

// `uiWords` includes the element's English texts. Receipts do not show these texts, so the script
// does not contain their translations.
const english = { ...uiWords, ...en };
export type Key = keyof typeof english;

const speech = makeSpeech<Key>(english);
export const { useSpeech, Said } = speech;
export const Speaking = makeSpeaking<Key>(speech.Context, english, async (tag) => ({
  ...english,
  ...(await loadPartWords(tag)),
  ...catalogues[tag],
}));
