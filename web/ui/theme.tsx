import { forget, remember } from "executable-address-element/page";
import { useState } from "react";
import { Icon } from "./icon.tsx";
import { useUiSpeech } from "./words/speech.tsx";

const themes = ["device", "light", "dark"] as const;
type Theme = (typeof themes)[number];
const names = { device: "coloursDevice", light: "coloursLight", dark: "coloursDark" } as const;
const icons = { device: "device", light: "sun", dark: "moon" } as const;

const chosen = (): Theme =>
  themes.find((theme) => theme === document.documentElement.dataset.theme) ?? "device";

/**
 * A button that switches between the device's color scheme, a light one, and a dark one.
 * public/theme.js applies the choice before the first paint.
 */
export function ThemeButton() {
  const { say } = useUiSpeech();
  const [theme, setTheme] = useState<Theme>(chosen);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  const says = say("colours", { now: say(names[theme]), next: say(names[next]) });
  const change = () => {
    if (next === "device") {
      delete document.documentElement.dataset.theme;
      forget("theme");
    } else {
      document.documentElement.dataset.theme = next;
      remember("theme", next);
    }
    setTheme(next);
  };
  return (
    <button
      type="button"
      onClick={change}
      aria-label={says}
      title={says}
      className="button button-bare button-small"
    >
      <Icon name={icons[theme]} />
    </button>
  );
}
