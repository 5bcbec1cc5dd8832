// Tells what a payer may want to know besides: where money goes otherwise, and the evidence.

import { useAbout } from "../shown/about.tsx";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment } from "../shown/words/say-when.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Definitions } from "../ui/definition.tsx";
import { Identicon } from "../ui/drawn/identicon.tsx";

const Code = ({ children }: { children: string }) => (
  <code dir="ltr" className="break-all">
    {children}
  </code>
);

const Account = ({ children }: { children: string }) => (
  <>
    <Identicon address={children} isInline />
    <Code>{children}</Code>
  </>
);

export function Otherwise() {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  return (
    <>
      <p className="mb-3 text-soft">{say("otherwiseText")}</p>
      <Definitions
        items={[
          [say("recoveryAddress"), <Account key="to">{intent.recovery}</Account>],
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
          [say("factory"), <Account key="factory">{record.factory}</Account>],
          [say("token"), <Account key="token">{intent.token}</Account>],
          [say("units"), <Code key="amount">{intent.amount}</Code>],
          [say("chain"), intent.chainId],
          [say("salt"), <Code key="salt">{intent.salt}</Code>],
          [
            say("terms"),
            <span key="terms" className="flex items-center gap-2">
              <Said as="bytes" n={(record.terms.length - 2) / 2} />
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
