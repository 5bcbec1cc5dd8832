// Shows addresses and hex as text: in groups, in full, or with a name.

import { addressGroups, isSame, partiesOf, shortAddress } from "executable-address-element/page";
import type { ReactNode } from "react";
import { Identicon } from "../ui/drawn/identicon.tsx";
import { useAbout } from "./about.tsx";
import type { Sentence } from "./reading.ts";
import { Said, useSpeech } from "./words/say.tsx";

/**
 * Shows the 40 characters in groups of four. The gaps are only visual, so they are not copied, and
 * screen readers ignore them.
 */
export function GroupedAddress({ address }: { address: string }) {
  return (
    <code dir="ltr" className="address-groups">
      0x
      {addressGroups(address).map((group, at) => (
        <span key={at.toString()}>{group}</span>
      ))}
    </code>
  );
}

/** Shows a hex string or a number in full, from left to right in every language. */
export const Whole = ({ text }: { text: string }) => (
  <code dir="ltr" className="break-all">
    {text}
  </code>
);

export const WholeAddress = ({ address }: { address: string }) => (
  <>
    <Identicon address={address} isInline />
    <Whole text={address} />
  </>
);

/** Shows a full address and, if known, its role or name. */
export function Party({ address }: { address: string }) {
  const { sayParty, intent } = useAbout();
  const { say } = useSpeech();
  const isRecovery = isSame(address, intent.recovery);
  const who = [sayParty(address), isRecovery && say("partyRecovery")].filter(Boolean).join(", ");
  return (
    <>
      <WholeAddress address={address} />
      {who && <span className="font-sans text-soft"> ({who})</span>}
    </>
  );
}

/**
 * Shows the name of an address. If the address has no name, shows it shortened, because the full
 * address is nearby.
 */
export function ShortParty({ address }: { address: string }) {
  const who = useAbout().sayParty(address);
  return (
    <span title={address}>
      <Identicon address={address} isInline />
      {who ?? <code dir="ltr">{shortAddress(address)}</code>}
    </span>
  );
}

/**
 * Says that the requester chose the recipients. Shows nothing if the page knows a name for every
 * recipient.
 */
export function ChosenBy() {
  const { intent, facts, sayParty } = useAbout();
  const { say } = useSpeech();
  if (partiesOf(intent).every((party) => party && sayParty(party))) return null;
  return <Said as="choseWho" requester={facts.requester ?? say("theRequester")} />;
}

type SentenceProps = { sentence: Sentence; address: (props: { address: string }) => ReactNode };

/** Shows a sentence, and draws its addresses with the component `address`. */
export function SentenceText({ sentence: { as, values }, address: Address }: SentenceProps) {
  const places: Record<string, ReactNode> = {};
  for (const [name, value] of Object.entries(values)) {
    places[name] = typeof value === "string" ? value : <Address address={value.address} />;
  }
  return <Said as={as} {...places} />;
}
