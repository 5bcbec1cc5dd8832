import { type AddressRecord, factoryAddress, verifyRecord } from "executable-address";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Notice } from "../../ui/notice.tsx";
import { QrCode } from "../../ui/qr-code.tsx";
import type { Config } from "../api.ts";
import { sayAmount, sayChain } from "../money.ts";
import { Snippet } from "../parts/snippet.tsx";
import { useCredentials } from "../queries.ts";
import { samplesFor } from "../samples.ts";
import { Said, useSpeech } from "../words/speech.ts";

type MadeProps = { record: AddressRecord; config: Config; onAgain: () => void };

const isProved = (record: AddressRecord): boolean => {
  try {
    verifyRecord(record, { factory: factoryAddress });
    return true;
  } catch {
    return false;
  }
};

/** Shows the new address to share, and code that creates the next one. */
export function Made({ record, config, onAgain }: MadeProps) {
  const { say } = useSpeech();
  const clientId = useCredentials().data?.clientId.clientId;
  if (!isProved(record)) {
    return (
      <Notice tone="bad" title={say("doNotUse")}>
        <p>{say("notItsOwn")}</p>
      </Notice>
    );
  }
  const { address, intent } = record;
  const { salt, ...fields } = intent;
  const page = `${config.publicUrl}/a/${address}`;
  const samples = samplesFor({ apiBase: config.apiBase, intent: makeSample(fields), clientId });
  return (
    <div className="space-y-6">
      <section
        aria-label={say("onThisPage")}
        className="card flex flex-wrap items-center gap-6 p-5"
      >
        <div className="w-44">
          <QrCode text={address} label={say("qrOf", { address })} />
        </div>
        <div className="min-w-0 flex-1 basis-64 space-y-3">
          <p>
            <Said
              as="sendTo"
              amount={<strong>{sayAmount(intent.amount, intent, config.chains, say)}</strong>}
              chain={sayChain(intent, config.chains, say)}
            />
          </p>
          <p>
            <code data-testid="new-address" className="break-all">
              {address}
            </code>
          </p>
          <div className="flex flex-wrap gap-2">
            <CopyButton text={address} what={say("theAddress")}>
              {say("address")}
            </CopyButton>
            <CopyButton text={page} what={say("linkToPage")}>
              {say("linkForPayer")}
            </CopyButton>
          </div>
          <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
            <a className="link" href={page} target="_blank" rel="noreferrer">
              {say("seePayersPage")}
            </a>
            <Link href={`/addresses/${address}`} className="link">
              {say("followIt")}
            </Link>
            <Link href="/addresses" className="link">
              {say("allAddresses")}
            </Link>
          </p>
        </div>
      </section>
      <section aria-labelledby="code" className="card space-y-4 p-5">
        <h2 id="code">{say("byProgram")}</h2>
        <Snippet samples={samples} label={say("examples")} />
        <p className="text-sm text-soft">
          <Said as="byProgramText" variable={<code>$API_KEY</code>} />
        </p>
      </section>
      <Button onClick={onAgain}>{say("makeAnother")}</Button>
    </div>
  );
}

/** Returns the fields in the usual order, with arguments that a sample can contain. */
const makeSample = ({
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
