import type { Hex } from "executable-address";
import type { ServiceStatus } from "executable-address/status";
import type { ReactNode } from "react";
import { CopyButton } from "../../ui/copy.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/time.tsx";
import type { Chain } from "../api.ts";
import { chainOf, type Place, sayAmount } from "../money.ts";
import type { FoundStatus, OwnedAddress } from "./api.ts";
import { State } from "./state.tsx";

type DetailProps = {
  row: OwnedAddress | undefined;
  now: FoundStatus | undefined;
  chains: readonly Chain[];
  onClose: () => void;
};

/** All of one address, without leaving the list it was found in. */
export function Detail({ row, now, chains, onClose }: DetailProps) {
  return (
    <Dialog title="An address" open={row !== undefined} onClose={onClose}>
      {row && <Facts row={row} now={now} chains={chains} />}
    </Dialog>
  );
}

function Facts({ row, now, chains }: Omit<DetailProps, "row" | "onClose"> & { row: OwnedAddress }) {
  const { address, reference, createdAt, intent } = row;
  const chain = chainOf(intent, chains);
  const status = now && "status" in now ? now.status : undefined;
  return (
    <div className="space-y-4">
      <p className="flex items-center gap-1">
        <code className="break-all">{address}</code>
        <CopyButton look="bare" text={address} what="address" />
      </p>
      <Definitions
        items={[
          ["State", <State key="state" of={row} now={now} />],
          ["Asks for", sayAmount(intent.amount, intent, chains)],
          ...(status ? moneyOf(status, chains) : []),
          ["Network", `${chain?.name ?? "not listed here"}, chain id ${intent.chainId}`],
          ...(reference ? ([["Reference", <bdi key="reference">{reference}</bdi>]] as const) : []),
          ["Created", <Time key="created" at={createdAt} />],
          ["Expires", <Time key="expires" at={intent.expirationTimestamp * 1000} />],
          ["Token", <Hash key="token" hash={intent.token} />],
          ["Recovery", <Hash key="recovery" hash={intent.recovery} />],
        ]}
      />
      <section aria-labelledby="detail-calls">
        <h3 id="detail-calls" className="font-semibold">
          {intent.calls.length === 1 ? "One call runs" : `${intent.calls.length} calls run`}
        </h3>
        <ol className="mt-2 space-y-3">
          {intent.calls.map((call, at) => (
            <li key={at.toString()} className="rounded-lg bg-sunken p-3 text-sm">
              <Hash hash={call.target} />
              <code className="mt-1 block break-all">{call.function}</code>
              {call.args.map((arg, place) => (
                <code key={place.toString()} className="block break-all text-soft">
                  {arg}
                </code>
              ))}
            </li>
          ))}
        </ol>
      </section>
      <a className="button button-primary" href={`/a/${address}`} target="_blank" rel="noreferrer">
        Open the payer's page
      </a>
    </div>
  );
}

/** Shows what came and where it went, as far as there is any. */
function moneyOf(status: ServiceStatus, chains: readonly Chain[]): [string, ReactNode][] {
  const { execution, recoveries, recoverable, chainId } = status;
  const at = (token: Hex): Place => ({ chainId, token });
  return [
    ["Holds", sayAmount(status.balance, status, chains)],
    ...(execution
      ? ([
          [
            "Executed",
            <Explored
              key="executed"
              status={status}
              hash={execution.transactionHash}
              text={`with ${sayAmount(execution.held, status, chains)}`}
            />,
          ],
        ] as [string, ReactNode][])
      : []),
    ...recoveries.map(
      ({ token, amount, transactionHash, logIndex }, count): [string, ReactNode] => [
        count === 0 ? "Returned" : `Returned, ${count + 1}`,
        <Explored
          key={logIndex}
          status={status}
          hash={transactionHash}
          text={sayAmount(amount, at(token), chains)}
        />,
      ],
    ),
    ...recoverable.map(({ token, amount }, count): [string, ReactNode] => [
      count === 0 ? "To be returned" : `To be returned, ${count + 1}`,
      sayAmount(amount, at(token), chains),
    ]),
  ];
}

type ExploredProps = { status: ServiceStatus; hash: Hex; text: string };

function Explored({ status: { explorer }, hash, text }: ExploredProps) {
  if (!explorer) {
    return (
      <>
        {text}, transaction <Hash hash={hash} />
      </>
    );
  }
  const href = `${explorer.replace(/\/+$/, "")}/tx/${hash}`;
  return (
    <>
      {text},{" "}
      <a className="link" href={href} target="_blank" rel="noreferrer">
        transaction
      </a>
    </>
  );
}

const Hash = ({ hash }: { hash: string }) => <code className="break-all">{hash}</code>;
