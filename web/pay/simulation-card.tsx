import type { AddressRecord } from "executable-address";
import type { BalanceChange, Simulation } from "executable-address/client";
import type { ServiceStatus } from "executable-address/status";
import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { Loading } from "../ui/states.tsx";
import type { Chain } from "./chains.ts";
import { InertText } from "./inert-text.tsx";
import { findToken, sayAmount } from "./reading.ts";
import { type Simulated, sayAccount, sayChange, useSimulation } from "./simulation.ts";

type Known = { record: AddressRecord; chains: readonly Chain[] };

/** Beside what the address guarantees, what it would come to now. */
export function WouldHappen(props: Known & { status: ServiceStatus | undefined }) {
  const { simulated, again } = useSimulation(props.record.address, props.status);
  // Who opened the page from terms alone may ask a server that knows nothing of them.
  if (simulated.kind === "not_held") return null;
  return (
    <section aria-labelledby="would" className="card p-5 sm:p-6">
      <h2 id="would" className="mb-1">
        What would happen now
      </h2>
      <Answer {...props} simulated={simulated} onRetry={again} />
    </section>
  );
}

function Answer(props: Known & { simulated: Simulated; onRetry: () => void }) {
  const { simulated, onRetry } = props;
  if (simulated.kind === "loading") return <Loading lines={3} />;
  if (simulated.kind !== "done") {
    return (
      <Notice
        title="It could not be simulated"
        action={
          <Button small onClick={onRetry}>
            Simulate again
          </Button>
        }
      >
        <p>The server or its chain does not answer. This changes nothing about the address.</p>
      </Notice>
    );
  }
  const { simulation } = simulated;
  return (
    <>
      <Outcome {...props} simulation={simulation} />
      <p className="mt-4 text-sm text-soft">
        Simulated by this server's node at block {simulation.block.number}. It is no part of what
        the address guarantees: at another block, or by a contract that tells a simulation from the
        real thing, it may come out otherwise.
      </p>
    </>
  );
}

const overWords: Partial<Record<Simulation["state"], string>> = {
  executed: "Nothing any more: the calls ran, and they run only once.",
  expired: "Nothing any more: it expired, and money here can only go to the recovery address.",
  recovered: "Nothing any more: it expired, and its money was returned.",
};

function Outcome({ simulation, record, chains }: Known & { simulation: Simulation }) {
  const { outcome, state, reason, failedCall, fundingAssumed, changes, unmeasured } = simulation;
  const { intent } = record;
  const amount = sayAmount(intent.amount, findToken(intent, chains, intent.token));
  switch (outcome) {
    case "succeeds":
      return (
        <>
          <p className="text-soft">
            {fundingAssumed ? `Once it holds ${amount}, ` : "Set off now, "}
            {changes.length > 0
              ? "it would run and change these balances, measured before and after:"
              : "it would run, and no measured balance would change."}
          </p>
          <ul className="mt-3 divide-y divide-line">
            {changes.map((change) => (
              <Change
                key={change.account + change.token}
                change={change}
                record={record}
                chains={chains}
              />
            ))}
          </ul>
          {unmeasured > 0 && (
            <Warning title="Not all was measured">
              {unmeasured} more {unmeasured === 1 ? "balance" : "balances"} could not be measured
              and may change as well.
            </Warning>
          )}
          {simulation.scope !== "transfers" && (
            <Warning title="Other accounts were not looked at">
              Only the accounts that stand in the calls were measured.
            </Warning>
          )}
        </>
      );
    case "fails":
      return (
        <Warning title="It would not run now">
          {failedCall === null ? "It fails" : `Call ${failedCall + 1} fails`}: “
          <InertText text={reason ?? ""} />
          ”. Then nothing of it happens, and the money stays here until it runs or expires.
        </Warning>
      );
    case "impossible":
      return <p className="text-soft">{overWords[state] ?? "Nothing any more."}</p>;
    case "unknown":
      return (
        <Notice title="It could not be simulated">
          <p>
            <InertText text={reason ?? ""} />. This changes nothing about the address.
          </p>
        </Notice>
      );
  }
}

function Change({ change, record, chains }: Known & { change: BalanceChange }) {
  const token = findToken(record.intent, chains, change.token);
  const who = sayAccount(change.account, record);
  const said = sayChange(change.change, change.token, token);
  return (
    <li className="py-2.5">
      <p className="font-semibold break-words tabular-nums">
        {said}
        {said.endsWith("base units") && (
          <span className="font-normal text-soft">
            {" "}
            of a token not listed here, <code className="break-all">{change.token}</code>
          </span>
        )}
      </p>
      <p className="text-sm">
        <code className="break-all">{change.account}</code>
        {who && <span className="text-soft"> ({who})</span>}
      </p>
    </li>
  );
}

function Warning({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="mt-3">
      <Notice tone="warn" title={title}>
        <p>{children}</p>
      </Notice>
    </div>
  );
}
