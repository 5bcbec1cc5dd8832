// The card with the simulated balance changes of an execution.

import { requestedAmount } from "executable-address";
import type { BalanceChange, Simulation } from "executable-address/client";
import type { Standing } from "executable-address-element/page";
import type { ReactNode } from "react";
import { useAbout } from "../shown/about.tsx";
import { Whole, WholeAddress } from "../shown/address-text.tsx";
import { InertText } from "../shown/inert-text.tsx";
import { findToken } from "../shown/reading.ts";
import { nativeCoin, type Simulated, sayAccount, sayChange } from "../shown/simulation.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { Loading } from "../ui/states.tsx";

type WouldProps = { simulated: Simulated; standing: Standing; onRetry: () => void };

/**
 * Shows the result of the simulation. Unless the simulation fails, also shows why the executor's
 * last attempt failed. The real outcome can differ from the simulation.
 */
export function WouldHappen({ simulated, standing, onRetry }: WouldProps) {
  const { reason } = standing;
  const isSimulated = simulated.kind === "done" && simulated.simulation.outcome === "fails";
  return (
    <>
      {reason !== null && !isSimulated && <Failure call={null} reason={reason} />}
      <Tested {...{ simulated, onRetry }} />
    </>
  );
}

function Tested({ simulated, onRetry }: Omit<WouldProps, "standing">) {
  const { say } = useSpeech();
  if (simulated.kind === "loading") return <Loading lines={3} />;
  if (simulated.kind !== "done") {
    return (
      <Notice
        title={say("wouldFailed")}
        action={
          <Button small onClick={onRetry}>
            {say("again")}
          </Button>
        }
      >
        <p>{say("wouldFailedText")}</p>
      </Notice>
    );
  }
  const { simulation } = simulated;
  return (
    <>
      <Outcome simulation={simulation} />
      <p className="mt-4 text-sm text-soft">
        <Said as="wouldSource" block={simulation.block.number} />
      </p>
    </>
  );
}

function Outcome({ simulation }: { simulation: Simulation }): ReactNode {
  const { intent, sayAmount } = useAbout();
  const { say } = useSpeech();
  const { outcome, reason, failedCall } = simulation;
  switch (outcome) {
    case "succeeds":
      return <Success simulation={simulation} amount={sayAmount(requestedAmount(intent))} />;
    case "fails":
      return <Failure call={failedCall} reason={reason ?? ""} />;
    case "impossible":
      return <p className="text-soft">{say("wouldOver")}</p>;
    case "unknown":
      return (
        <Notice title={say("wouldFailed")}>
          <p>
            <InertText text={reason ?? ""} />
          </p>
        </Notice>
      );
  }
}

/** Shows text from a contract or a server. */
function Failure({ call, reason }: { call: number | null; reason: string }) {
  const { say } = useSpeech();
  return (
    <Notice tone="warn" title={say("wouldFails")}>
      <p>
        <Said
          as="wouldFailsText"
          what={call === null ? say("it") : say("callN", { n: call + 1 })}
          reason={<InertText text={reason} />}
        />
      </p>
    </Notice>
  );
}

function Success({ simulation, amount }: { simulation: Simulation; amount: string }) {
  const { say } = useSpeech();
  const { fundingAssumed, changes, unmeasured, scope } = simulation;
  return (
    <>
      <p className="text-soft">
        {changes.length === 0 ? (
          say("wouldNothing")
        ) : fundingAssumed ? (
          <Said as="wouldOnce" amount={amount} />
        ) : (
          say("wouldNow")
        )}
      </p>
      <ul className="mt-3 divide-y divide-line">
        {changes.map((change) => (
          <Change key={change.account + change.token} change={change} />
        ))}
      </ul>
      {unmeasured > 0 && (
        <p className="mt-3 text-warn">
          <Said as="wouldUnmeasured" n={unmeasured} />
        </p>
      )}
      {scope !== "transfers" && <p className="mt-3 text-warn">{say("wouldScope")}</p>}
    </>
  );
}

function Change({ change }: { change: BalanceChange }) {
  const { record, chains, facts } = useAbout();
  const { say } = useSpeech();
  const token = findToken(record.intent, chains, change.token);
  const who = sayAccount(change.account, record, facts.labels, say);
  return (
    <li className="py-2.5">
      <p className="font-semibold break-words tabular-nums">
        <bdi dir="ltr">{sayChange(change.change, change.token, token, say)}</bdi>
        {!token && change.token !== nativeCoin && (
          <span className="font-normal text-soft">
            {" "}
            <Said as="ofToken" address={<Whole text={change.token} />} />
          </span>
        )}
      </p>
      <p className="text-sm">
        <WholeAddress address={change.account} />
        {who && <span className="text-soft"> ({who})</span>}
      </p>
    </li>
  );
}
