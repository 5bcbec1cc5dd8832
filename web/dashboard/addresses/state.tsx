import type { AddressState } from "executable-address/status";
import { Badge } from "../../ui/notice.tsx";
import type { FoundStatus, OwnedAddress } from "./api.ts";

export const states: Readonly<Record<AddressState, readonly ["plain" | "good" | "warn", string]>> =
  {
    unfunded: ["plain", "Unfunded"],
    partially_funded: ["warn", "Partly funded"],
    funded: ["good", "Funded"],
    executed: ["good", "Executed"],
    expired: ["warn", "Expired"],
    recovered: ["plain", "Recovered"],
  };

type StateProps = { of: OwnedAddress; now: FoundStatus | undefined };

/** Shows the state that its chain has now, or, where that cannot be read, the last one seen. */
export function State({ of: seen, now }: StateProps) {
  if (!now) return <span className="skeleton inline-block h-4 w-16" />;
  const state = "status" in now ? now.status.state : seen.block && seen.state;
  if (!state) {
    return (
      <span className="text-soft" title="Its chain cannot be read just now">
        Unknown
      </span>
    );
  }
  const [tone, name] = states[state] ?? ["plain", state];
  return (
    <span className="inline-flex items-center gap-2">
      <Badge tone={tone}>{name}</Badge>
      {"error" in now && (
        <span className="text-sm text-soft" title="Its chain cannot be read just now">
          last seen
        </span>
      )}
    </span>
  );
}
