// Tells what a payer may want to know besides: where money goes otherwise, and the evidence.

import { useAbout } from "../shown/about.tsx";
import { Whole, WholeAddress } from "../shown/address-text.tsx";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment } from "../shown/words/say-when.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Definitions } from "../ui/definition.tsx";

export function Otherwise() {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  return (
    <>
      <p className="mb-3 text-soft">{say("otherwiseText")}</p>
      <Definitions
        items={[
          [say("recoveryAddress"), <WholeAddress key="to" address={intent.recovery} />],
          [say("expires"), sayMoment(intent.expirationTimestamp, language)],
        ]}
      />
    </>
  );
}

export function Evidence() {
  const { record, intent } = useAbout();
  const { say } = useSpeech();
  return (
    <>
      <p className="mb-3 text-soft">{say("checkedText")}</p>
      <Definitions
        items={[
          [say("factory"), <WholeAddress key="factory" address={record.factory} />],
          [say("token"), <WholeAddress key="token" address={intent.token} />],
          [say("units"), <Whole key="amount" text={intent.amount} />],
          [say("chain"), intent.chainId],
          [say("salt"), <Whole key="salt" text={intent.salt} />],
          [
            say("terms"),
            <span key="terms" className="flex items-center gap-2">
              <span>
                <Said as="bytes" n={(record.terms.length - 2) / 2} />
              </span>
              <CopyButton look="bare" text={record.terms} what={say("terms")} />
            </span>,
          ],
          [
            say("withoutServer"),
            <a key="link" className="link" href={`/a/#terms=${record.terms}`}>
              {say("fromTerms")}
            </a>,
          ],
        ]}
      />
    </>
  );
}
