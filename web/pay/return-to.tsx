import { Said } from "../shown/words/say.tsx";

/** `?return_to=https://…`: the shop's page, or undefined for anything but plain https. */
function returnTo(search: string): URL | undefined {
  const text = new URLSearchParams(search).get("return_to");
  const url = text && URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" || url.username || url.password) return undefined;
  return url;
}

/**
 * Anybody can write a link, so it is named by its host, and opened by a press and never by itself.
 */
export function ReturnTo({ isFinal }: { isFinal: boolean }) {
  const url = returnTo(window.location.search);
  if (!url) return null;
  if (!isFinal) {
    return (
      <p className="text-center text-sm text-soft">
        <Said as="backLater" host={url.host} />
      </p>
    );
  }
  return (
    <p className="text-center print:hidden">
      <a className="button button-primary" href={url.href} rel="noreferrer">
        <span className="truncate">
          <Said as="backTo" host={url.host} />
        </span>
      </a>
    </p>
  );
}
