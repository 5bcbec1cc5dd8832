// How the components of the dashboard speak.

import { makeSpeech } from "../../ui/words/speech.tsx";
import { en, loadWords } from "./words.ts";

export const { useSpeech, Said, Speaking } = makeSpeech(en, loadWords);
