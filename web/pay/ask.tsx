// Shows how to pay. By default, the QR code contains only the payment address. If a wallet sends
// money to this address by mistake, the money can be returned. A payment link also contains the
// token contract. If a wallet sends money to the token contract by mistake, the money is lost.

import { isSame, paymentLink, shortAddress } from "executable-address-element/page";
import { type ReactNode, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { GroupedAddress, ShortParty, Whole } from "../shown/address-text.tsx";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Definitions } from "../ui/definition.tsx";
import { Identicon } from "../ui/drawn/identicon.tsx";
import { QrCode } from "../ui/qr-code.tsx";
import { useAccounts } from "./wallet/wallets.ts";

const ways = [
  ["address", "byAddress"],
  ["link", "byLink"],
  ["exchange", "byExchange"],
] as const;
type Way = (typeof ways)[number][0];

type AskProps = {
  owed: string;
  /** True if the page expects the payment to complete after the payer has paid. */
  isClear: boolean;
  wallets: ReactNode;
};

export function Ask({ owed, isClear, wallets }: AskProps) {
  const { record, token, chainName, sayAmount } = useAbout();
  const { say } = useSpeech();
  const [way, setWay] = useState<Way>("address");
  const { address } = record;
  const link = paymentLink(record, owed);
  return (
    <>
      <div className="ask-pay">
        <p className="must-show">
          <Said
            as="walletMustShow"
            amount={<b>{sayAmount(owed)}</b>}
            address={
              <b>
                <code dir="ltr">{shortAddress(address)}</code>
              </b>
            }
            chain={<b>{chainName}</b>}
          />
        </p>
        {/* Hidden on narrow screens, so that the whole card fits on the screen. */}
        <p className="text-xs text-soft max-sm:hidden">
          {say("ownAddress")} {isClear && say("completesLater")}
        </p>
        <GoesElse />
        {way !== "exchange" && wallets}
      </div>
      <div className="ask-code">
        <div className="qr-frame">
          {way === "link" ? (
            <QrCode text={link} label={say("qrOfLink", { chain: chainName })} />
          ) : (
            <QrCode text={address} label={say("qrOfAddress", { address })} />
          )}
          <p>
            <bdi>{token?.symbol ?? say("token")}</bdi> · <bdi>{chainName}</bdi>
          </p>
        </div>
        <Ways chosen={way} onChoose={setWay} />
      </div>
      <div className="ask-words">
        {way === "link" && (
          <p className="text-sm text-soft">
            <Said as="byLinkText" chain={chainName} />{" "}
            <a href={link} className="link">
              {say("openInWallet")}
            </a>
          </p>
        )}
        <div className="flex items-start gap-1">
          <Identicon address={address} />
          <GroupedAddress address={address} />
          <CopyButton look="bare" text={address} what={say("address")} />
        </div>
        {way === "exchange" && <FromAnExchange owed={owed} />}
      </div>
    </>
  );
}

type WaysProps = { chosen: Way; onChoose: (way: Way) => void };

function Ways({ chosen, onChoose }: WaysProps) {
  const { say } = useSpeech();
  return (
    <fieldset className="ways">
      <legend className="sr-only">{say("waysToPay")}</legend>
      {ways.map(([name, word]) => (
        <Button
          key={name}
          look="bare"
          small
          aria-pressed={chosen === name}
          onClick={() => onChoose(name)}
        >
          {say(word)}
        </Button>
      ))}
    </fieldset>
  );
}

/** Shows the return address, unless a wallet in this browser owns it. */
function GoesElse() {
  const { intent } = useAbout();
  const accounts = useAccounts();
  if (accounts.some((account) => isSame(account, intent.recovery))) return null;
  return (
    <p className="text-xs text-soft">
      <Said as="goesElse" address={<ShortParty address={intent.recovery} />} />
    </p>
  );
}

/**
 * Shows the values that a payer enters at an exchange. Copied text has the format that exchanges
 * accept.
 */
function FromAnExchange({ owed }: { owed: string }) {
  const { intent, chainName, sayAmount } = useAbout();
  const { say } = useSpeech();
  return (
    <>
      <p className="mb-3">
        <Said as="exchangeText" amount={<b>{sayAmount(owed)}</b>} />
      </p>
      <p className="mb-3">
        <Said as="exchangeOnly" chain={<b>{chainName}</b>} />
      </p>
      <Definitions
        items={[
          [
            say("network"),
            <Said key="network" as="networkIs" chain={chainName} id={intent.chainId} />,
          ],
          [
            say("tokenContract"),
            <span key="token" className="flex items-start gap-2">
              <Identicon address={intent.token} />
              <Whole text={intent.token} />
              <CopyButton look="bare" text={intent.token} what={say("tokenContract")} />
            </span>,
          ],
        ]}
      />
    </>
  );
}
