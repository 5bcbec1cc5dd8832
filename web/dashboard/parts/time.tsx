import { sayMoment } from "../../shown/words/say-when.ts";
import { english } from "../../ui/words/languages.ts";
import { useSpeech } from "../words/speech.ts";
import { sayTime } from "./say-time.ts";

/** `nowSeconds` is Unix time, for views that show times by another clock than the browser's. */
type TimeProps = { at: string | number | null; none?: string; nowSeconds?: number };

/** When something was or will be: near moments in words, the exact time on hover. */
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
