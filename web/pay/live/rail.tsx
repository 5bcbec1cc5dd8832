import type { Standing } from "executable-address-element/page";
import { useRef } from "react";
import type { Key } from "../../shown/words/languages.ts";
import { useSpeech } from "../../shown/words/say.tsx";
import { saySpan } from "../../shown/words/say-when.ts";

const steps: readonly Key[] = ["stepAsked", "stepSent", "stepReceived", "stateExecuted"];

type RailProps = { standing: Standing; isSent: boolean };

/** How far the payment has come, with the seconds that each step took while this page looked on. */
export function Rail({ standing: { state }, isSent }: RailProps) {
  const { say } = useSpeech();
  const reached =
    state === "executed"
      ? 3
      : state === "paid" || state === "stuck"
        ? 2
        : isSent || state === "partly"
          ? 1
          : 0;
  const since = useRef<{ reached: number; ms: number }[]>([]);
  const last = since.current.at(-1);
  if (state !== "unknown" && (!last || last.reached < reached))
    since.current.push({ reached, ms: Date.now() });
  if (reached === 0 && (state === "expired" || state === "recovered")) return null;
  const secondsOf = (step: number) => {
    const at = since.current.findIndex((each) => each.reached === step);
    if (at < 1) return undefined;
    return Math.round((since.current[at]!.ms - since.current[at - 1]!.ms) / 1000);
  };
  return (
    <ol className={reached === 0 ? "rail rail-start" : "rail"}>
      {steps.map((step, at) => {
        const seconds = secondsOf(at);
        return (
          <li
            key={step}
            className={at <= reached ? "rail-done" : ""}
            aria-current={at === reached ? "step" : undefined}
          >
            <span>{say(step)}</span>
            {seconds !== undefined && at <= reached && (
              <span className="text-soft">{saySpan(seconds, say)}</span>
            )}
          </li>
        );
      })}
    </ol>
  );
}
