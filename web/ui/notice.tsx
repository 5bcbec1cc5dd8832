import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

type Tone = "plain" | "good" | "warn" | "bad";
const icons: Record<Tone, IconName> = {
  plain: "info",
  good: "shield",
  warn: "warning",
  bad: "warning",
};
const inks: Record<Tone, string> = {
  plain: "text-soft",
  good: "text-accent",
  warn: "text-warn",
  bad: "text-danger",
};

type NoticeProps = {
  tone?: Tone;
  title?: string | undefined;
  children?: ReactNode;
  action?: ReactNode;
};

/** An important message. Screen readers announce a message with the tone `bad` immediately. */
export function Notice({ tone = "plain", title, children, action }: NoticeProps) {
  return (
    <div role={tone === "bad" ? "alert" : undefined} className={`notice notice-${tone}`}>
      <span className={`pt-0.5 ${inks[tone]}`}>
        <Icon name={icons[tone]} />
      </span>
      <div className="min-w-0 flex-1">
        {title && <p className="font-semibold">{title}</p>}
        {children}
        {action && <div className="mt-3">{action}</div>}
      </div>
    </div>
  );
}

export function Badge({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge badge-${tone}`}>{children}</span>;
}
