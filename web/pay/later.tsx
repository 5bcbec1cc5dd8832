// Loads code that is not needed in order to pay, such as the simulation and the receipt.

import { type ComponentType, lazy, type ReactNode, Suspense } from "react";
import { useSpeech } from "../shown/words/say.tsx";
import { Button } from "../ui/button.tsx";

/**
 * Starts to load a part of the page immediately. Otherwise, an update of the server could replace
 * the part's file before the part is shown. If the part cannot be loaded, a button reloads the
 * page. The rest of the page still works.
 */
function loadLater<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  const first = load().catch(() => undefined);
  return lazy<ComponentType<Props>>(async () => ({
    default: (await first) ?? (await load().catch(() => Missing)),
  }));
}

/** Like {@link loadLater}, but shows a placeholder while the part is loading. */
function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  placeholder: ReactNode = <div className="place" />,
) {
  const Loaded = loadLater(load) as ComponentType<Props>;
  return (props: Props) => (
    <Suspense fallback={placeholder}>
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

const namesShop = new URLSearchParams(window.location.search).has("shop");
export const Shop = namesShop
  ? later(async () => (await import("./shop.tsx")).Shop, null)
  : () => null;

const receipts = () => import("./receipt.tsx");
export const Receipt = later(async () => (await receipts()).Receipt);
export const OtherMoney = later(async () => (await receipts()).OtherMoney);
export const Returns = later(async () => (await import("./returns.tsx")).Returns);
// These three parts share one placeholder, so that they appear together. If the parts appeared
// separately, the content below them would move several times.
export const WouldHappen = loadLater(
  async () => (await import("./simulation-card.tsx")).WouldHappen,
);
export const Calls = loadLater(async () => (await import("../shown/calls.tsx")).Calls);
export const ProvedFlow = loadLater(
  async () => (await import("../shown/money-flow.tsx")).ProvedFlow,
);
