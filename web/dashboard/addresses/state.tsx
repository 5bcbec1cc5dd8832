// A badge with the state of an address.

import type { ListedAddress } from "executable-address/client";
import type { AddressState } from "executable-address/status";
import { Badge } from "../../ui/notice.tsx";
import type { FoundStatus } from "../api.ts";
import { useSpeech } from "../words/speech.ts";
import type { Key } from "../words/words.ts";

export const states: Readonly<Record<AddressState, readonly ["plain" | "good" | "warn", Key]>> = {
  unfunded: ["plain", "isUnfunded"],
  partially_funded: ["warn", "isPartlyFunded"],
  funded: ["good", "isFunded"],
  executed: ["good", "isExecuted"],
  expired: ["warn", "isExpired"],
  recovered: ["plain", "isRecovered"],
};

type StateProps = { of: ListedAddress; now: FoundStatus | undefined };

/** Shows the current state. If the chain cannot be read, shows the last known state. */
export function State({ of: seen, now }: StateProps) {
  const { say } = useSpeech();
  if (!now) return <span className="skeleton inline-block h-4 w-16" />;
  const state = "status" in now ? now.status.state : seen.block && seen.state;
  if (!state) {
    return (
      <span className="text-soft" title={say("chainAway")}>
        {say("unknown")}
      </span>
    );
  }
  const [tone, name] = states[state];
  return (
    <span className="inline-flex items-center gap-2">
      <Badge tone={tone}>{say(name)}</Badge>
      {"error" in now && (
        <span className="text-sm text-soft" title={say("chainAway")}>
          {say("lastSeen")}
        </span>
      )}
    </span>
  );
}
