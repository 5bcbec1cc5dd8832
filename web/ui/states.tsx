import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";
import { useUiSpeech } from "./words/speech.tsx";

/** An empty state: names the missing content, the reason, and the next action. */
export function Empty(props: {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center px-6 py-10 text-center">
      <span className="mb-4 rounded-full bg-sunken p-3 text-soft">
        <Icon name={props.icon} size={22} />
      </span>
      <p className="font-semibold">{props.title}</p>
      <div className="mt-1 max-w-sm text-soft">{props.children}</div>
      {props.action && <div className="mt-5">{props.action}</div>}
    </div>
  );
}

const widths = ["w-2/3", "w-1/2", "w-3/5", "w-2/5"];

/** A placeholder for content that is loading. */
export function Loading({ lines = 3 }: { lines?: number }) {
  const { say } = useUiSpeech();
  return (
    <div role="status" className="space-y-4 p-5">
      <span className="sr-only">{say("loading")}</span>
      {Array.from({ length: lines }, (_, at) => (
        <div key={at.toString()} className={`skeleton h-4 ${widths[at % widths.length]}`} />
      ))}
    </div>
  );
}
