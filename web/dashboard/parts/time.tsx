import { sayMoment } from "../../shown/words/say-when.ts";
import { english } from "../../ui/words/languages.ts";
import { useSpeech } from "../words/speech.ts";
import { sayTime } from "./say-time.ts";

/**
 * `nowSeconds` is the current Unix time, by default from the browser's clock. Views that use the
 * chain's clock set `nowSeconds`.
 */
type TimeProps = { at: string | number | null; none?: string; nowSeconds?: number };

/**
 * Shows a time relative to now or, if it is more than 30 days away, the date. A tooltip contains
 * the exact time.
 */
export function Time({ at, none, nowSeconds = Date.now() / 1000 }: TimeProps) {
  const { say } = useSpeech();
  if (at === null) return <span className="text-soft">{none ?? say("never")}</span>;
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={sayMoment(date.getTime() / 1000, english)}>
      {sayTime(date, new Date(nowSeconds * 1000), say)}
    </time>
  );
}
