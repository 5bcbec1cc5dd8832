// Serves the built pages of web/ from memory, where they need 2 MB. All files are read at startup,
// so no request can read another file. Each file is compressed only once, because a compression
// blocks all other requests.

import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { originOf } from "executable-address/payment";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { immutable, jsonType, Refusal } from "../errors.ts";
import { isKnown } from "../headers.ts";
import { limitPending } from "../load/admission.ts";
import type { Parts } from "../parts.ts";
import { unknownPath } from "../routes.ts";
import type { Statuses } from "../status/status.ts";
import { findLocalNode } from "./local-node.ts";
import { type FindPreview, openPreviews } from "./preview.ts";

/** The folder into which `npm run build -w web` writes the pages. */
const built = fileURLToPath(new URL("../../../web/dist", import.meta.url));

/** The paths of the routes in web/dashboard/main.tsx. */
export const dashboardPaths = [
  "/",
  "/credentials",
  "/origins",
  "/addresses",
  "/addresses/new",
  "/addresses/:address",
  "/webhooks",
  "/activity",
  "/account",
  "/sign-in",
  "/sign-up",
  "/reset",
];
const payPaths = ["/a", "/a/"];
const receiptPaths = ["/receipt", "/receipt/:address"];

/**
 * Returns the Content-Security-Policy for a page. Pages run only our own scripts. By default, they
 * connect only to this server. Other pages cannot embed them in a frame. The receipt page can also
 * connect to nodes ({@link readersNodes}). The payment page also shows the icons of wallets, which
 * are data URLs (EIP-6963). `shop` is the shop's origin, if the payment page's link contains one.
 * `localNodes` are the nodes to which the dashboard sends payments in a local setup (`npm start`).
 */
function policyOf(path: string, { shop, localNodes = [] }: Reached): string {
  const isPublic = path === "pay.html";
  const others: Record<string, readonly string[]> = {
    "index.html": localNodes.map((url) => new URL(url).origin),
    "pay.html": shop ? [shop] : [],
    "receipt.html": readersNodes,
  };
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    isPublic ? "img-src 'self' data:" : "img-src 'self'",
    "font-src 'self'",
    ["connect-src 'self'", ...(others[path] ?? [])].join(" "),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/**
 * The receipt page connects to nodes that the user enters. The URL of a node must use https, unless
 * the node runs on the user's machine.
 */
const readersNodes = ["https:", "http://127.0.0.1:*", "http://localhost:*"];

/**
 * The media type for each file extension. The server does not start if a file's extension is
 * missing here.
 */
const types: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": jsonType,
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

type File = ReturnType<typeof bodyOf> & { headers: Record<string, string> };

type Reached = {
  shop?: string | undefined;
  /** The URLs that {@link findLocalNode} returned for the chains. */
  localNodes?: readonly string[] | undefined;
};

type Served = Pick<Parts, "publicUrl" | "metrics"> &
  Pick<Reached, "localNodes"> & {
    /** The maximum number of payment pages that are rendered simultaneously. */
    pagesInFlightMax?: number;
  };

/**
 * The maximum number of compressed pages in the cache. When a link is shared, several clients
 * request the same page within a short time. With the cache, the server compresses the page only
 * once.
 */
const previewsMax = 1_000;

/**
 * Mounts the dashboard, the payment page with its link previews, the receipt page, and the
 * documentation.
 */
export function mountPages(app: FastifyInstance, parts: Parts, statuses: Statuses): void {
  const { publicUrl, chains, limits, metrics } = parts;
  const served = {
    publicUrl,
    metrics,
    localNodes: chains.known.flatMap((chain) => findLocalNode(chain, publicUrl) ?? []),
    pagesInFlightMax: limits.lookupsInFlightMax,
  };
  app.register(async (scope) => servePages(scope, served, openPreviews(parts, statuses)));
}

/** If the pages have not been built, only the API is available. */
export function servePages(
  app: FastifyInstance,
  { publicUrl, metrics, localNodes, pagesInFlightMax = 1_000 }: Served,
  findPreview: FindPreview,
  directory = built,
): void {
  const files = new Map<string, File>();
  if (existsSync(directory)) {
    for (const path of listFiles(directory)) {
      const headers = pageHeaders(publicUrl, policyOf(path, { localNodes }));
      files.set(`/${path}`, readFile(join(directory, path), path, headers));
    }
  }
  const find = (path: string): File => {
    const file = files.get(path);
    if (!file) throw new Refusal("not_found", "the pages are not built: npm run build -w web");
    return file;
  };
  const page = (path: string) => (request: FastifyRequest, reply: FastifyReply) =>
    send(find(path), request, reply);
  /**
   * Returns the payment page. If the page's link contains a shop's origin, the page's policy allows
   * connections to this origin.
   */
  const payPage = ({ query }: FastifyRequest): File => {
    const file = find("/pay.html");
    const { shop } = query as { shop?: unknown };
    const origin = typeof shop === "string" ? originOf(shop) : undefined;
    if (!origin) return file;
    const policy = policyOf("pay.html", { shop: origin });
    return { ...file, headers: { ...file.headers, "content-security-policy": policy } };
  };
  for (const path of files.keys()) app.get(path, page(path));
  for (const path of dashboardPaths) app.get(path, page("/index.html"));
  for (const path of payPaths)
    app.get(path, (request, reply) => send(payPage(request), request, reply));
  for (const path of receiptPaths) app.get(path, page("/receipt.html"));
  // `/docs` redirects to a path below `/docs/`, because the documentation uses relative links.
  app.get("/docs", (_, reply) => reply.redirect("/docs/index.html"));
  app.get("/*", (request, reply) => {
    const file = files.get("/index.html");
    if (!file || !wantsPage(request)) throw unknownPath(request.url);
    return send(file, request, reply.code(404));
  });
  const previewed = new LRUCache<string, ReturnType<typeof bodyOf>>({ max: previewsMax });
  const bounded = { preHandler: limitPending(metrics, "page", pagesInFlightMax) };
  app.get("/a/:address", bounded, async (request, reply) => {
    const file = payPage(request);
    const preview = await findPreview((request.params as { address: string }).address);
    if (!preview) return send(file, request, reply);
    const html = () => file.body.toString().replace(/<title>[^<]*<\/title>/, () => preview);
    const body = previewed.get(preview) ?? bodyOf(Buffer.from(html()));
    previewed.set(preview, body);
    return send({ ...file, ...body }, request, reply);
  });
}

/**
 * Returns the relative paths of all files in `directory`, with `/` as the separator. Omits files
 * whose names start with a dot.
 */
function listFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .map((path) => path.replaceAll(sep, "/"));
}

function readFile(file: string, path: string, common: Record<string, string>): File {
  const type = types[extname(path)];
  if (!type) throw new Error(`${file} has a file type that the pages do not use`);
  const body = readFileSync(file);
  // The names of files below assets/ contain a hash of the content. Browsers can cache them
  // forever. Browsers must revalidate all other files.
  const isHashed = /^assets\/.*-[\w-]{8,}\.\w+$/.test(path);
  return {
    ...bodyOf(body),
    headers: {
      ...common,
      "content-type": type,
      ...(isHashed ? immutable : { "cache-control": "no-cache" }),
      vary: "Accept-Encoding",
    },
  };
}

/** Compresses the body when it is first requested, so that the server starts without this work. */
function bodyOf(body: Buffer) {
  let gzip: Buffer | undefined;
  return {
    body,
    etag: hash("sha256", body, "base64url").slice(0, 22),
    gzip: () => {
      gzip ??= gzipSync(body, { level: 9 });
      return gzip;
    },
  };
}

function send(file: File, request: FastifyRequest, reply: FastifyReply) {
  const { body, gzip } = file;
  const isGzip = takesGzip(request.headers["accept-encoding"]) && gzip().length < body.length;
  const etag = `"${file.etag}${isGzip ? "-gzip" : ""}"`;
  reply.headers(file.headers);
  const isFound = reply.statusCode === 200;
  if (isFound && isKnown(etag, request.headers["if-none-match"], reply)) return reply.send();
  if (isGzip) reply.header("content-encoding", "gzip");
  return reply.send(isGzip ? gzip() : body);
}

/** Returns whether the request is for a page, and not for the API or an asset. */
const wantsPage = ({ url, headers }: FastifyRequest): boolean =>
  !/^\/(v\d+|auth|dashboard|assets)(\/|\?|$)/.test(url) &&
  (headers.accept ?? "").includes("text/html");

/**
 * Returns whether the client accepts gzip (RFC 9110 §12.5.3). `q=0` in the header means that the
 * client refuses gzip.
 */
function takesGzip(acceptEncoding = ""): boolean {
  return acceptEncoding.split(",").some((coding) => {
    const [name = "", quality = "q=1"] = coding.split(";").map((part) => part.trim());
    return name.toLowerCase() === "gzip" && !/^q=0(\.0*)?$/i.test(quality);
  });
}

function pageHeaders(publicUrl: string, policy: string): Record<string, string> {
  const isSecure = new URL(publicUrl).protocol === "https:";
  return {
    "content-security-policy": policy,
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ...(isSecure && { "strict-transport-security": "max-age=31536000" }),
  };
}
