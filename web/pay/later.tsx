// What nobody pays by is loaded after what everybody pays by: pictures of money, and receipts.

import { type ComponentType, lazy, Suspense } from "react";

/**
 * It is loaded with the page all the same, since a server may have newer files by the time it is
 * wanted. A page that cannot have it is paid by without it.
 */
function later<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  const first = load().catch(() => undefined);
  const Loaded = lazy(async () => ({
    default: (await first) ?? (await load().catch(() => Nothing)),
  }));
  return (props: Props) => (
    <Suspense fallback={<div className="place" />}>
      <Loaded {...props} />
    </Suspense>
  );
}

const Nothing = () => null;

const receipts = () => import("./receipt.tsx");
export const Receipt = later(async () => (await receipts()).Receipt);
export const OtherMoney = later(async () => (await receipts()).OtherMoney);
export const ProvedFlow = later(async () => (await import("../shown/money-flow.tsx")).ProvedFlow);
