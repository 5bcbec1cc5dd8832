import { nameOf, type Refusal, type Step, shortAddress } from "executable-address-element/page";
import type { ReactNode } from "react";
import { useAbout } from "../../shown/about.tsx";
import { InertText } from "../../shown/inert-text.tsx";
import { Said, useSpeech } from "../../shown/words/say.tsx";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import type { PaymentHere } from "./use-payment.ts";
import { iconOf, walletApps } from "./wallets.ts";

type PanelProps = { payment: PaymentHere; owed: string };

/** One button for each wallet of this browser; where there is none, apps that open this page. */
export function WalletPanel({ payment, owed }: PanelProps) {
  const { say } = useSpeech();
  const { asking, wallets, pay } = payment;
  if (wallets.length === 0) return <WalletApps />;
  const isAsking = asking.is === "asking";
  return (
    <div className="flex flex-col gap-2">
      <div role="status" className="text-sm empty:hidden">
        {isAsking && <StepText step={asking.step} owed={owed} />}
      </div>
      {asking.is === "refused" && (
        <Notice tone="bad">
          <RefusalText refusal={asking.refusal} owed={owed} />
        </Notice>
      )}
      <div className="tiles">
        {wallets.map((wallet) => (
          <Button
            key={wallet.info.uuid}
            look="primary"
            className="w-full"
            busy={isAsking}
            onClick={() => pay(wallet)}
          >
            {iconOf(wallet) && <img src={iconOf(wallet)} alt="" width="20" height="20" />}
            <span className="truncate">
              <Said as="payWith" wallet={nameOf(wallet, say("injectedWallet"))} />
            </span>
          </Button>
        ))}
      </div>
    </div>
  );
}

function WalletApps() {
  const { say } = useSpeech();
  return (
    <p className="text-sm text-soft">
      {say("noWallet")}{" "}
      {walletApps.map(({ name, link }, at) => (
        <span key={name}>
          {at > 0 && " · "}
          <a className="link" href={link(window.location.href)} rel="noreferrer">
            {name}
          </a>
        </span>
      ))}
    </p>
  );
}

export function StepText({ step, owed }: { step: Step; owed: string }): ReactNode {
  const { record, chainName, sayAmount } = useAbout();
  const { say } = useSpeech();
  switch (step) {
    case "connect":
      return say("stepConnect");
    case "chain":
      return <Said as="stepChain" chain={chainName} />;
    case "check":
      return say("stepCheck");
    case "sign":
      return (
        <Said
          as="stepSign"
          amount={sayAmount(owed)}
          address={<code dir="ltr">{shortAddress(record.address)}</code>}
          chain={chainName}
        />
      );
  }
}

export function RefusalText({ refusal, owed }: { refusal: Refusal; owed: string }): ReactNode {
  const { chainName, sayAmount, sayCoin } = useAbout();
  const { say } = useSpeech();
  switch (refusal.kind) {
    case "rejected":
      return say("payRejected");
    case "busy":
      return say("payBusy");
    case "other_chain":
      return say("payOtherChain");
    case "unknown_chain":
      return <Said as="payUnknownChain" chain={chainName} />;
    case "no_account":
      return say("payNoAccount");
    case "changed":
      return say("payChanged");
    case "asked_elsewhere":
      return say("payAskedElsewhere");
    case "poor":
      return <Said as="payPoor" held={sayAmount(refusal.held)} amount={sayAmount(owed)} />;
    case "no_gas":
      return (
        <Said as="payNoGas" held={sayCoin(refusal.heldWei)} needed={sayCoin(refusal.neededWei)} />
      );
    case "refused":
      return <Said as="payRefused" reason={<InertText text={refusal.reason} />} />;
    case "failed":
      return <Said as="payFailed" reason={<InertText text={refusal.reason} />} />;
  }
}
