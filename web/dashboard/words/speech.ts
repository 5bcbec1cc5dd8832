// Provides texts to the dashboard's components.

import { makeSpeech } from "../../ui/words/speech.tsx";
import { en } from "./words.ts";

export const { useSpeech, Said } = makeSpeech(en);
