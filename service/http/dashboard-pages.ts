// The built pages of web/: files as they are, and for the paths of the two applications their page.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "./errors.ts";
import type { Parts } from "./parts.ts";

/** Where `npm run build` puts them. */
const built = fileURLToPath(new URL("../../web/dist", import.meta.url));

const dashboardPaths = [
  "/",
  "/credentials",
  "/origins",
  "/addresses",
  "/activity",
  "/account",
  "/sign-in",
  "/sign-up",
  "/reset",
];
const payPaths = ["/a", "/a/", "/a/:address"];

/** Only what we serve runs, and talks only to us; nobody frames it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Without built pages there is only the API. */
export async function mountPages(
  app: FastifyInstance,
  { publicUrl }: Pick<Parts, "publicUrl">,
  webDirectory = built,
): Promise<void> {
  const headers = pageHeaders(publicUrl);
  const isBuilt = existsSync(join(webDirectory, "index.html"));
  if (isBuilt) {
    await app.register(fastifyStatic, {
      root: webDirectory,
      index: false,
      // A route per file that is there now: nothing else is ever read from the disk.
      wildcard: false,
      cacheControl: false,
      setHeaders(response, path) {
        for (const [name, value] of Object.entries(headers)) response.header(name, value);
        response.header("Cache-Control", cacheControl(path));
      },
    });
  }
  const page = (file: string) => (_request: FastifyRequest, reply: FastifyReply) => {
    if (isBuilt) return reply.sendFile(file);
    throw new Refusal("not_found", "the pages are not built: npm run build");
  };
  for (const path of dashboardPaths) app.get(path, page("index.html"));
  for (const path of payPaths) app.get(path, page("pay.html"));
}

/** Names under assets/ hold a hash of their content; all others are asked for anew each time. */
function cacheControl(path: string): string {
  const isHashed = /\/assets\/.*-[\w-]{8,}\.\w+$/.test(path.replaceAll("\\", "/"));
  return isHashed ? "public, max-age=31536000, immutable" : "no-cache";
}

function pageHeaders(publicUrl: string): Record<string, string> {
  const isSecure = new URL(publicUrl).protocol === "https:";
  return {
    "Content-Security-Policy": policy,
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ...(isSecure && { "Strict-Transport-Security": "max-age=31536000" }),
  };
}
