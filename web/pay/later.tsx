// What nobody pays by is loaded after what everybody pays by: the calls, pictures of money,
// simulations, and receipts.

import { type ComponentType, lazy, Suspense } from "react";
import { useSpeech } from "../shown/words/say.tsx";
import { Button } from "../ui/button.tsx";

/**
 * It is loaded with the page all the same, since a server may have newer files by the time it is
 * wanted. A page that cannot load it is paid by without it, and offers to load again.
 */
function later<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  const first = load().catch(() => undefined);
  const Loaded = lazy(async () => ({
    default: (await first) ?? (await load().catch(() => Missing)),
  }));
  return (props: Props) => (
    <Suspense fallback={<div className="place" />}>
      <Loaded {...props} />
    </Suspense>
  );
}

function Missing() {
  const { say } = useSpeech();
  return (
    <Button small onClick={() => window.location.reload()}>
      {say("tryAgain")}
    </Button>
  );
}

const receipts = () => import("./receipt.tsx");
export const Receipt = later(async () => (await receipts()).Receipt);
export const OtherMoney = later(async () => (await receipts()).OtherMoney);
export const WouldHappen = later(async () => (await import("./simulation-card.tsx")).WouldHappen);
export const Calls = later(async () => (await import("../shown/calls.tsx")).Calls);
export const ProvedFlow = later(async () => (await import("../shown/money-flow.tsx")).ProvedFlow);
