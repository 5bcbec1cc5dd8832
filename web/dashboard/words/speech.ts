// How the components of the dashboard speak.

import { makeSpeech } from "../../ui/words/speech.tsx";
import { en } from "./words.ts";

export const { useSpeech, Said } = makeSpeech(en);
