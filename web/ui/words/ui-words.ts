import { createContext, useContext } from "react";

type ThemeName = "device" | "light" | "dark";

/** The few words that the parts say by themselves. The public page gives them in its language. */
export type UiWords = {
  loading: string;
  copyWhat: (what: string) => string;
  whatCopied: (what: string) => string;
  copyRefused: string;
  tryAgain: string;
  colours: (now: ThemeName, next: ThemeName) => string;
};

const themeNames = { device: "as the device", light: "light", dark: "dark" };

export const UiWordsContext = createContext<UiWords>({
  loading: "Loading",
  copyWhat: (what) => `Copy ${what}`,
  whatCopied: (what) => `${what} copied`,
  copyRefused: "Not allowed here: select it and copy by hand",
  tryAgain: "Try again",
  colours: (now, next) => `Colours: ${themeNames[now]}. Change to ${themeNames[next]}`,
});

export const useUiWords = () => useContext(UiWordsContext);
