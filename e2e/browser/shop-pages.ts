// The pages of a shop that uses the element. The pages have a strict content security policy, and
// their origin differs from the service's origin.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { localChainId, shopAddress } from "../../scripts/local-chain.ts";
import type { Running } from "../service.ts";
import { token } from "./pay-page.ts";

const example = resolve(import.meta.dirname, "../../docs/shop");

/**
 * Bundles and minifies `code` for a page. Returns the entry file and the files that it loads on
 * demand.
 */
export async function bundle(
  code: string,
  name = "entry",
): Promise<{ code: string; later: Record<string, string> }> {
  const build = await rolldown({
    input: "entry",
    cwd: resolve(import.meta.dirname, "../.."),
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? join(example, "entry.js") : null),
        load: (id) => (id === join(example, "entry.js") ? code : null),
      },
    ],
  });
  const { output } = await build.generate({
    ...{ format: "esm", minify: true, entryFileNames: `${name}.js` },
  });
  await build.close();
  const [entry, ...rest] = output;
  const chunks = rest.filter((part) => part.type === "chunk");
  return {
    code: entry.code,
    later: Object.fromEntries(chunks.map(({ fileName, code }) => [`/${fileName}`, code])),
  };
}

export const bare = `import "executable-address-element";`;
const recovery = `import "executable-address-element/recovery";`;
const react = `
  import { createElement } from "react";
  import { createRoot } from "react-dom/client";
  import { ExecutableAddress } from "executable-address-element/react";
  const query = new URLSearchParams(location.search);
  const dispatched = (name) => () => document.body.append(" dispatched " + name);
  createRoot(document.querySelector("#payment")).render(createElement(ExecutableAddress, {
    address: query.get("address"), baseUrl: query.get("base"),
    words: { stateUnfunded: "En attente" }, onPaid: dispatched("paid"),
    onExecuted: dispatched("executed"),
  }));`;

/** The policy permits requests to the service but to no other origin. */
const policyOf = (serviceOrigin: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${serviceOrigin}`;

/** Serves `/`, `/bare`, `/react`, and `/refund` on a separate origin. */
export async function serveShop({ baseUrl, clientId }: Pick<Running, "baseUrl" | "clientId">) {
  const text = (name: string) => readFileSync(join(example, name), "utf8");
  const serviceOrigin = new URL(baseUrl).origin;
  const settings = { baseUrl, clientId, chainId: localChainId, token: token.address };
  const plain = text("index.html").replace("shop.js", "bare.js");
  const codes = { shop: text("shop.js"), bare, react, refund: recovery };
  const built = await Promise.all(Object.entries(codes).map(([name, code]) => bundle(code, name)));
  const [shopCode, bareCode, reactCode, recoveryCode] = built.map(({ code }) => code);
  const later = built.flatMap((each) => Object.entries(each.later));
  const files: Record<string, [string, string]> = {
    ...Object.fromEntries(later.map(([path, code]) => [path, ["text/javascript", code]])),
    "/": ["text/html", text("index.html")],
    "/shop.css": ["text/css", text("shop.css")],
    "/shop.js": ["text/javascript", shopCode!],
    "/settings.json": ["application/json", JSON.stringify({ ...settings, shop: shopAddress })],
    "/bare": ["text/html", plain],
    "/bare.js": ["text/javascript", bareCode!],
    "/react": ["text/html", plain.replace("bare.js", "react.js")],
    "/refund": [
      "text/html",
      `<!doctype html><html lang="en"><title>Refund</title><script type="module" src="/refund.js">
      </script><label>Refund <input id="refund"></label>
      <executable-recovery for="refund"></executable-recovery>`,
    ],
    "/refund.js": ["text/javascript", recoveryCode!],
    "/react.js": ["text/javascript", reactCode!],
  };
  const shop = createServer((request, response) => {
    const [type, body] = files[request.url?.split("?")[0] ?? ""] ?? ["text/plain", ""];
    response.setHeader("content-security-policy", policyOf(serviceOrigin));
    response.setHeader("content-type", `${type}; charset=utf-8`).end(body);
  });
  await new Promise<void>((listening) => shop.listen(0, "localhost", listening));
  return {
    origin: `http://localhost:${(shop.address() as AddressInfo).port}`,
    close: () => {
      shop.closeAllConnections();
      shop.close();
    },
  };
}
