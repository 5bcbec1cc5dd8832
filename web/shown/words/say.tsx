// How the components of pages about one address speak.

import { makeSpeech } from "../../ui/words/speech.tsx";
import { en, loadWords } from "./languages.ts";

export const { useSpeech, Said, Speaking } = makeSpeech(en, loadWords);
