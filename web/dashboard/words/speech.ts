// Gives components of the dashboard their texts.

import { makeSpeech } from "../../ui/words/speech.tsx";
import { en } from "./words.ts";

export const { useSpeech, Said } = makeSpeech(en);
