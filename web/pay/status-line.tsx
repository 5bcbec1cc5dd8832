import type { ServiceStatus } from "executable-address/status";
import type { ReactNode } from "react";
import { Badge } from "../ui/notice.tsx";
import type { Token } from "./chains.ts";
import { explorerLink } from "./explorer.ts";
import { sayAmount } from "./reading.ts";
import { type Following, stateNames } from "./status.ts";

type Props = { following: Following; token: Token | undefined };

/** The present state, read out when it changes. */
export function StatusLine({ following: { status, live }, token }: Props) {
  const explorer = status && explorerLink(status.explorer, "address", status.address);
  const [tone, name] = status ? stateNames[status.state] : (["plain", "State unknown"] as const);
  return (
    <div role="status" className="mt-5 border-t border-line pt-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Badge tone={tone}>{name}</Badge>
        {status && <span className="text-sm text-soft">{sayEvidence(status, token)}</span>}
        {status && !live && (
          <span className="text-sm text-warn">Connection lost; this may be old</span>
        )}
      </div>
      {status && explorer && (
        <p className="mt-2 text-sm">
          <Explored link={explorer}>This address on {new URL(explorer).host}</Explored>
        </p>
      )}
    </div>
  );
}

/** What the state rests on: a block, or the transaction in which the calls ran. */
const sayEvidence = (status: ServiceStatus, token: Token | undefined): ReactNode => {
  const last = status.execution ?? status.recoveries.at(-1);
  if (last) {
    const { transactionHash, blockNumber } = last;
    return (
      <>
        in block {blockNumber}, transaction{" "}
        <Explored link={explorerLink(status.explorer, "tx", transactionHash)}>
          <code className="break-all">{transactionHash}</code>
        </Explored>
      </>
    );
  }
  const holds = status.balance === "0" ? "nothing" : sayAmount(status.balance, token);
  return `holds ${holds} at block ${status.block.number}${sayExecutor(status)}`;
};

/** Opens apart, so that the page stays, and without telling the explorer where from. */
function Explored({ link, children }: { link: string | undefined; children: ReactNode }) {
  if (!link) return children;
  return (
    <a className="link" href={link} target="_blank" rel="noreferrer">
      {children}
      <span className="sr-only"> (opens in a new tab)</span>
    </a>
  );
}

/** The server's own executor: news, never evidence. */
const sayExecutor = ({ executor }: ServiceStatus): string => {
  switch (executor?.phase) {
    case "sent":
      return "; its transaction was sent";
    case "given_up":
      return "; this server gave up, anyone else may still set it off";
    default:
      return "";
  }
};
