import { type AddressRecord, factoryAddress, verifyRecord } from "executable-address";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Notice } from "../../ui/notice.tsx";
import { QrCode } from "../../ui/qr-code.tsx";
import { Snippet } from "../../ui/snippet.tsx";
import type { Config } from "../api.ts";
import { chainOf, sayAmount } from "../money.ts";
import { useCredentials } from "../queries.ts";
import { samplesFor } from "../samples.ts";

type MadeProps = { record: AddressRecord; config: Config; onAgain: () => void };

const isProved = (record: AddressRecord): boolean => {
  try {
    verifyRecord(record, { factory: factoryAddress });
    return true;
  } catch {
    return false;
  }
};

/** The address to hand out, and how a program makes the next one. */
export function Made({ record, config, onAgain }: MadeProps) {
  const clientId = useCredentials().data?.clientId?.clientId;
  if (!isProved(record)) {
    return (
      <Notice tone="bad" title="Do not use it">
        <p>What the server answered does not belong to its own address.</p>
      </Notice>
    );
  }
  const { address, intent } = record;
  const { salt, ...asked } = intent;
  const page = `${config.publicUrl}/a/${address}`;
  const samples = samplesFor({ apiBase: config.apiBase, intent: sampleOf(asked), clientId });
  return (
    <div className="space-y-6">
      <section aria-label="The address" className="card flex flex-wrap items-center gap-6 p-5">
        <div className="w-44">
          <QrCode text={address} label={`QR code of ${address}`} />
        </div>
        <div className="min-w-0 flex-1 basis-64 space-y-3">
          <p>
            Send <strong>{sayAmount(intent.amount, intent, config.chains)}</strong> on{" "}
            {chainOf(intent, config.chains)?.name} to
          </p>
          <p>
            <code data-testid="new-address" className="break-all">
              {address}
            </code>
          </p>
          <div className="flex flex-wrap gap-2">
            <CopyButton text={address} what="address">
              Address
            </CopyButton>
            <CopyButton text={page} what="link to the payer's page">
              Link for the payer
            </CopyButton>
          </div>
          <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
            <a className="link" href={page} target="_blank" rel="noreferrer">
              See what the payer sees
            </a>
            <Link href="/addresses" className="link">
              All addresses
            </Link>
          </p>
        </div>
      </section>
      <section aria-labelledby="code" className="card space-y-4 p-5">
        <h2 id="code">The same by a program</h2>
        <Snippet samples={samples} label="Examples by language" />
        <p className="text-sm text-soft">
          curl is for servers and needs the API key in <code>$API_KEY</code>; fetch is for a page of
          an allowed origin. Each run makes another address: the salt is drawn anew.
        </p>
      </section>
      <Button onClick={onAgain}>Make another</Button>
    </div>
  );
}

/** In the order in which one writes it, and arguments that a sample may hold. */
const sampleOf = ({
  chainId,
  token,
  amount,
  calls,
  ...rest
}: Omit<AddressRecord["intent"], "salt">) => ({
  ...{ chainId, token, amount },
  calls: calls.map((call) => ({ ...call, args: [...call.args] })),
  expirationTimestamp: rest.expirationTimestamp,
  recovery: rest.recovery,
});
