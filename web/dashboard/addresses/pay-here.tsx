import { useMutation } from "@tanstack/react-query";
import type { AddressRecord } from "executable-address";
import { RpcError, type ServiceStatus } from "executable-address/status";
import { Transaction } from "../../shown/transaction.tsx";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { Said, useSpeech } from "../words/speech.ts";
import { payAt } from "./local-node.ts";

type PayHereProps = { record: AddressRecord; localNode: string; status: ServiceStatus | undefined };

/** Pays an address of the local chain with a button, and shows the progress. */
export function PayHere({ record: { address, intent }, localNode, status }: PayHereProps) {
  const { say } = useSpeech();
  const payment = useMutation({ mutationFn: () => payAt(localNode, address, intent) });
  const isOpen = status?.state === "unfunded" && !payment.isSuccess;
  return (
    <div>
      {isOpen && (
        <div className="flex flex-wrap items-center gap-3">
          <Button look="primary" busy={payment.isPending} onClick={() => payment.mutate()}>
            {say("payLocal")}
          </Button>
          <p className="text-sm text-soft">{say("payLocalText")}</p>
        </div>
      )}
      {isOpen && payment.error && <Unpaid error={payment.error} {...{ address, localNode }} />}
      <div role="status">
        {payment.data && status?.state !== "executed" && (
          <p>
            <Said
              as="paidLocal"
              transaction={<Transaction hash={payment.data} explorer={null} />}
            />
          </p>
        )}
        {payment.data && status?.state === "executed" && (
          <Notice tone="good" title={say("isExecuted")}>
            <p>
              <Said
                as="executedLocal"
                receipt={
                  <a className="link" href={`/receipt/${address}`} target="_blank" rel="noreferrer">
                    {say("receipt")}
                  </a>
                }
              />
            </p>
          </Notice>
        )}
      </div>
    </div>
  );
}

type UnpaidProps = { error: Error; address: string; localNode: string };

/** Shows the error of the node, or a terminal command if this browser cannot reach the node. */
function Unpaid({ error, address, localNode }: UnpaidProps) {
  const { say } = useSpeech();
  const pasted = { name: say("terminal"), text: `npm run --silent pay -- ${address}` };
  return (
    <div className="mt-3 space-y-3">
      <Notice tone="bad" title={say("notPaid")}>
        <p>
          {error instanceof RpcError ? (
            <bdi>{error.message}</bdi>
          ) : (
            <Said as="localAway" node={<code>{localNode}</code>} />
          )}
        </p>
      </Notice>
      <Snippet samples={[pasted]} label={say("payLocal")} />
    </div>
  );
}
