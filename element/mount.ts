// Registers the elements of this package in a page.
//
// On a server without HTMLElement, the base class is empty. The import then succeeds and registers
// nothing.
export const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/** Attaches a shadow root with the common style, unless the element already has a shadow root. */
export function attachRoot(host: HTMLElement): void {
  if (host.shadowRoot) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  host.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
}

/**
 * Defines an element. Does nothing if the element is already defined, or on a server without custom
 * elements.
 */
export function define(name: string, element: CustomElementConstructor): void {
  const registry = globalThis.customElements;
  if (!registry?.get(name)) registry?.define(name, element);
}

/** The default style, which pages can override with `::part(…)` and the custom properties below. */
const style = `
:host {
  display: block;
  max-width: var(--ea-width, 20rem);
  padding: var(--ea-padding, 1.25rem);
  border: 1px solid var(--ea-line, #d9d7cf);
  border-radius: var(--ea-radius, 0.75rem);
  background: var(--ea-background, #fff);
  color: var(--ea-ink, #1a1c1e);
  font: var(--ea-font, 0.9375rem/1.5 system-ui, sans-serif);
}
:host([hidden]) { display: none; }
p { margin: 0.5rem 0 0; }
bdi { display: inline-block; max-width: 100%; }
[part~="amount"] {
  width: fit-content;
  margin: 0;
  font-size: 1.75em;
  font-weight: 600;
  line-height: 1.2;
  overflow-wrap: anywhere;
}
[part~="qr"] { display: block; width: 100%; max-width: 14rem; margin: 0.5rem auto 0; }
[part~="address"] { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
[part~="address"] span { display: inline-block; margin-inline-end: 0.5ch; }
[part~="identicon"] {
  width: 1.125em;
  height: 1.125em;
  margin-inline-end: 0.5ch;
  border-radius: 0.25em;
  vertical-align: -0.2em;
}
[part~="status"] { color: var(--ea-soft, #5c5f62); }
[part~="warning"] { color: var(--ea-warn, #7a5200); font-weight: 600; }
button, a { color: var(--ea-accent, #0b6b57); font: inherit; }
button {
  margin-top: 0.5rem;
  padding: 0.125rem 0.5rem;
  border: 1px solid currentcolor;
  border-radius: 0.375rem;
  background: transparent;
  cursor: pointer;
}
[part~="pay"] { width: 100%; padding: 0.5rem; }
:focus-visible { outline: 2px solid currentcolor; outline-offset: 2px; }
`;
