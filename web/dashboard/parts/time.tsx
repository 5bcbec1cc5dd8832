import { sayMoment } from "../../shown/words/say-when.ts";
import { english } from "../../ui/words/languages.ts";
import { useSpeech } from "../words/speech.ts";
import { sayTime } from "./say-time.ts";

type TimeProps = { at: string | number | null; none?: string };

/** When something was or will be: near moments in words, the exact time on hover. */
export function Time({ at, none }: TimeProps) {
  const { say } = useSpeech();
  if (at === null) return <span className="text-soft">{none ?? say("never")}</span>;
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={sayMoment(date.getTime() / 1000, english)}>
      {sayTime(date, new Date(), say)}
    </time>
  );
}
