// What both elements of this package do to stand in a page.

import { style } from "./drawing/style.ts";

// A server that renders pages may import an element too; there it defines nothing.
export const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/** Gives `host` its shadow root with the style of both elements, where it has none yet. */
export function attachRoot(host: HTMLElement): void {
  if (host.shadowRoot) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  host.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
}

/** Defines an element where there is a registry; a page may load the module twice. */
export function define(name: string, element: CustomElementConstructor): void {
  const registry = globalThis.customElements;
  if (!registry?.get(name)) registry?.define(name, element);
}
