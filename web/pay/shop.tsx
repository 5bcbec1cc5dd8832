// Shows the shop and the order that the page's link names (`?shop=…&order=…&signature=…`). If the
// link contains no shop, the page does not load this module.

import {
  manifestPath,
  originOf,
  type ProvedShop,
  proveShop,
  readShopClaim,
} from "executable-address-element/page";
import { useEffect, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { Said } from "../shown/words/say.tsx";
import { Notice } from "../ui/notice.tsx";

/** Shows the shop's domain before its name, because the name can be forged. */
export function Shop() {
  const here = useShop();
  if (here.is === "refuted") {
    return (
      <Notice tone="bad">
        <p>
          <Said as="shopRefutes" shop={<b dir="ltr">{here.shop}</b>} />
        </p>
      </Notice>
    );
  }
  if (here.is !== "proved") return null;
  const { shop, name, order } = here.shop;
  return (
    <div className="shop">
      {here.logo && <img src={here.logo} alt="" width="32" height="32" />}
      <p className="payee">
        <bdi dir="ltr">{shop}</bdi>
        <span className="font-normal text-soft">
          {" · "}
          <bdi>{name}</bdi>
          {order && (
            <>
              {" · "}
              <Said as="orderIs" order={<bdi>{order}</bdi>} />
            </>
          )}
        </span>
      </p>
    </div>
  );
}

type ShopHere =
  | { is: "unnamed" | "unknown" }
  | { is: "refuted"; shop: string }
  | { is: "proved"; shop: ProvedShop; logo: string | undefined };

const patienceMs = 5_000;
/** The maximum size of a manifest and of a logo. */
const bytesMax = 65_536;

/**
 * Reads the shop and the order from the link. If the shop's manifest confirms the link, the page
 * shows the shop and the order. If the manifest contradicts the link, the page shows a warning. If
 * the manifest cannot be read, the page shows nothing about the shop.
 */
function useShop(): ShopHere {
  const { record, intent } = useAbout();
  const [here, setHere] = useState<ShopHere>({ is: "unnamed" });
  useEffect(() => {
    const claim = readShopClaim(window.location.search);
    if (!claim) return;
    const stopping = new AbortController();
    const late = setTimeout(() => stopping.abort(), patienceMs);
    const read = (url: string) => readBlob(url, stopping.signal);
    const find = async (): Promise<ShopHere> => {
      const manifest = await read(originOf(claim.shop) + manifestPath);
      const said: unknown = JSON.parse(await manifest.text());
      const shop = await proveShop(said, claim, { address: record.address, intent });
      if (!shop) return { is: "refuted", shop: claim.shop };
      const logo =
        shop.logo &&
        (await read(shop.logo)
          .then(readPicture)
          .catch(() => undefined));
      return { is: "proved", shop, logo };
    };
    let isGone = false;
    void find()
      .catch((): ShopHere => ({ is: "unknown" }))
      .then((found) => !isGone && setHere(found));
    return () => {
      isGone = true;
      clearTimeout(late);
      stopping.abort();
    };
  }, [record, intent]);
  return here;
}

/** @throws if the status is not 2xx, or the response was redirected or is too long */
async function readBlob(url: string, signal: AbortSignal): Promise<Blob> {
  const answer = await fetch(url, {
    signal,
    redirect: "error",
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });
  if (!answer.ok || !answer.body) throw new Error(`expected status 2xx, found ${answer.status}`);
  const reader = answer.body.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(chunks, { type: answer.headers.get("content-type") ?? "" });
    bytes += value.length;
    if (bytes > bytesMax) throw new Error(`expected at most ${bytesMax} bytes, found more`);
    chunks.push(value);
  }
}

/** Loads a picture as a data URL, because the page's policy forbids pictures from other origins. */
const readPicture = (blob: Blob): Promise<string | undefined> =>
  new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(/^image\//.test(blob.type) ? `${reader.result}` : undefined);
    reader.onerror = () => resolve(undefined);
    reader.readAsDataURL(blob);
  });
