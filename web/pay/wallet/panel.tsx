// The wallet buttons, and the state of a payment by a wallet.

import {
  type Message,
  sayWalletName,
  shortAddress,
  type Value,
  type Wallet,
  type WalletView,
} from "executable-address-element/page";
import type { ReactNode } from "react";
import { useAbout } from "../../shown/about.tsx";
import { InertText } from "../../shown/inert-text.tsx";
import { Transaction } from "../../shown/transaction.tsx";
import { Said, useSpeech } from "../../shown/words/say.tsx";
import { sayClock } from "../../shown/words/say-when.ts";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import { findIcon, walletApps } from "./wallets.ts";

type ButtonsProps = { wallets: readonly Wallet[]; onPay: (wallet: Wallet) => void };

/**
 * Shows one button per wallet in this browser. Without wallets, shows links that open this page in
 * wallet apps.
 */
export function WalletButtons({ wallets, onPay }: ButtonsProps) {
  const { say } = useSpeech();
  if (wallets.length === 0) return <WalletApps />;
  return (
    <div className="tiles">
      {wallets.map((wallet) => (
        <Button
          key={wallet.info.uuid}
          look="primary"
          className="w-full"
          onClick={() => onPay(wallet)}
        >
          {findIcon(wallet) && <img src={findIcon(wallet)} alt="" width="20" height="20" />}
          <span className="truncate">
            <Said as="payWith" wallet={sayWalletName(wallet, say("injectedWallet"))} />
          </span>
        </Button>
      ))}
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

type NoticeProps = { view: WalletView; explorer: string | null | undefined };

/** Shows the state of a payment by a wallet, and what the payer can do next. */
export function WalletNotice({ view, explorer }: NoticeProps) {
  const { say } = useSpeech();
  const { is, title, messages, hash, action } = view;
  if (messages.length === 0) return null;
  const isBad = is === "decline" || is === "failed" || is === "offered";
  return (
    <div className="ask-all">
      <Notice tone={isBad ? "bad" : "plain"} title={title && say(title)}>
        <div role="status">
          {messages.map((message) => (
            <p key={message.word}>
              <MessageText message={message} />
            </p>
          ))}
        </div>
        {hash && (
          <p className="mt-2 text-sm break-all">
            {say("transaction")} <Transaction hash={hash} explorer={explorer} />
          </p>
        )}
        {action && (
          <Button small className="mt-3" onClick={action.press}>
            {say(action.word)}
          </Button>
        )}
      </Notice>
    </div>
  );
}

function MessageText({ message: { word, values = {} } }: { message: Message }): ReactNode {
  const places = Object.entries(values).map(([name, value]) => [
    name,
    <ValueText key={name} value={value} />,
  ]);
  return <Said as={word} {...Object.fromEntries(places)} />;
}

function ValueText({ value }: { value: Value }): ReactNode {
  const { chainName, sayAmount, sayCoin } = useAbout();
  const { language } = useSpeech();
  switch (value.is) {
    case "amount":
      return <bdi dir="ltr">{sayAmount(value.units)}</bdi>;
    case "coin":
      return <bdi dir="ltr">{sayCoin(value.wei)}</bdi>;
    case "address":
      return <code dir="ltr">{shortAddress(value.address)}</code>;
    case "chain":
      return chainName;
    case "block":
      return value.number;
    case "time":
      return sayClock(value.ms, language);
    case "reason":
      return <InertText text={value.text} />;
  }
}
