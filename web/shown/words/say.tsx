// Provides texts to components that show one address.

import { makeSpeaking, makeSpeech } from "../../ui/words/speech.tsx";
import { en, loadWords } from "./languages.ts";

const speech = makeSpeech(en);
export const { useSpeech, Said } = speech;
export const Speaking = makeSpeaking(speech.Context, en, loadWords);
