import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import zlib, { gunzipSync } from "node:zlib";
import Fastify, { type FastifyInstance } from "fastify";
import { Refusal } from "../errors.ts";
import { createMetrics } from "../metrics.ts";
import { dashboardPaths, servePages } from "./pages.ts";

const directory = mkdtempSync(join(tmpdir(), "pages-"));
mkdirSync(join(directory, "assets"));
writeFileSync(join(directory, "index.html"), "the dashboard");
writeFileSync(join(directory, "pay.html"), "the public page<title>of nobody</title>");
writeFileSync(join(directory, "receipt.html"), "the receipt");
writeFileSync(join(directory, "mark.svg"), "<svg/>");
const script = "compress me ".repeat(100);
writeFileSync(join(directory, "assets/main-BX3k_9aQ.js"), script);
writeFileSync(join(directory, ".secret"), "x");
const publicUrl = "http://127.0.0.1:8080";
const metrics = createMetrics();
let app: FastifyInstance;
let onHttps: FastifyInstance;
before(async () => {
  app = Fastify();
  app.setErrorHandler((error, _, reply) => {
    const isRefused = error instanceof Refusal && error.code === "unknown_path";
    return reply.code(isRefused ? 404 : 500).send(`${error}`);
  });
  const preview = async (address: string) =>
    address === "0xheld" ? "<title>25 &amp; $1</title>" : undefined;
  servePages(app, { publicUrl, metrics }, preview, directory);
  onHttps = Fastify();
  servePages(onHttps, { publicUrl: "https://pay.example", metrics }, preview, directory);
});
after(async () => {
  await app.close();
  await onHttps.close();
  rmSync(directory, { recursive: true });
});

test("the server serves exactly the paths of the dashboard's routes", () => {
  const routes = join(import.meta.dirname, "../../../web/dashboard/main.tsx");
  const paths = [...readFileSync(routes, "utf8").matchAll(/"(\/[^"]*)"/g)];
  assert.deepEqual(new Set(dashboardPaths), new Set(paths.map(([, path]) => path)));
});

describe("servePages", () => {
  test("returns 404 for missing files, dot files, and paths outside the folder", async () => {
    const paths = ["/nothing", "/.secret", "/../package.json", "/%2e%2e/package.json", "/assets/"];
    for (const url of [
      ...paths,
      "/assets/..%2f..%2fpackage.json",
      "/index.html/x",
      "/.git/config",
    ]) {
      assert.equal((await app.inject({ url })).statusCode, 404, url);
    }
  });

  test("includes the dashboard in a 404 response, except for API and asset paths", async () => {
    const headers = { accept: "text/html,*/*;q=0.8", "if-none-match": "*" };
    const asked = await app.inject({ url: "/adresses", headers });
    assert.deepEqual([asked.statusCode, asked.body], [404, "the dashboard"]);
    for (const url of ["/v1/nothing", "/auth/x", "/dashboard/api/x", "/assets/gone.js"]) {
      const answer = await app.inject({ url, headers });
      assert.equal(answer.statusCode, 404);
      assert.doesNotMatch(answer.body, /the dashboard/, url);
    }
  });

  test("returns an explanation if the pages are not built", async () => {
    const bare = Fastify();
    servePages(bare, { publicUrl, metrics }, async () => undefined, join(directory, "absent"));
    const answer = await bare.inject({ url: "/" });
    assert.match(answer.body, /not built/);
    await bare.close();
  });

  test("lets only the payment page connect to the shop in the `shop` parameter", async () => {
    const policyOf = async (url: string) =>
      `${(await app.inject({ url })).headers["content-security-policy"]}`;
    const plain = await policyOf("/a/0xheld");
    for (const url of [
      "/?shop=shop.example",
      "/receipt?shop=shop.example",
      "/a/0xheld?shop=*",
      "/a/0xheld?shop=shop.example%20https:",
      "/a/0xheld?shop=shop.example;script-src%20*",
      "/a/0xheld?shop=10.0.0.1",
      "/a/0xheld?shop=a.example&shop=b.example",
    ])
      assert.doesNotMatch(await policyOf(url), /\.example|script-src \*|self' \*|10\.0/, url);
    for (const url of ["/a/0xheld?shop=shop.example", "/a?shop=shop.example"]) {
      const wanted = plain.replace("connect-src 'self'", "connect-src 'self' https://shop.example");
      assert.equal(await policyOf(url), wanted);
    }
  });

  test("returns the payment page for paths under `/a`, and otherwise the dashboard", async () => {
    for (const url of ["/", "/credentials", "/origins", "/sign-in", "/reset", "/account"]) {
      assert.equal((await app.inject({ url })).body, "the dashboard", url);
    }
    for (const url of ["/a", "/a/", `/a/0x${"1".repeat(40)}`, "/a/nonsense"]) {
      const { body } = await app.inject({ url });
      assert.equal(body, "the public page<title>of nobody</title>", url);
    }
    const held = await app.inject({ url: "/a/0xheld", headers: { "accept-encoding": "gzip" } });
    assert.equal(held.body, "the public page<title>25 &amp; $1</title>");
    assert.notEqual(held.headers.etag, (await app.inject({ url: "/a/" })).headers.etag);
  });

  test("compresses the page of an address only once, and caches up to 1,000 pages", async (t) => {
    const { mock } = t.mock.method(zlib, "gzipSync");
    syncBuiltinESMExports();
    const many = Fastify();
    servePages(
      many,
      { publicUrl, metrics },
      async (address) => `<title>${address}</title>`,
      directory,
    );
    await many.ready();
    assert.equal(mock.callCount(), 0, "a start waits for none");
    const headers = { "accept-encoding": "gzip" };
    const compressedFor = async (address: string) => {
      const before = mock.callCount();
      // Compression would make this short page longer, so the server sends the page uncompressed.
      const { body } = await many.inject({ url: `/a/${address}`, headers });
      assert.match(body, new RegExp(`<title>${address}</title>`));
      return mock.callCount() - before;
    };
    assert.equal(await compressedFor("0x0"), 1);
    assert.equal(await compressedFor("0x0"), 0);
    for (let other = 1; other <= 1_000; other++) await compressedFor(`0x${other}`);
    assert.equal(await compressedFor("0x1000"), 0);
    assert.equal(await compressedFor("0x0"), 1, "the oldest made room");
    mock.restore();
    syncBuiltinESMExports();
    await many.close();
  });

  test("returns 503 if too many pages of addresses are requested simultaneously", async () => {
    let open = () => {};
    const preview = new Promise<undefined>((resolve) => {
      open = () => resolve(undefined);
    });
    const few = Fastify();
    servePages(few, { publicUrl, metrics, pagesInFlightMax: 1 }, () => preview, directory);
    await few.ready();
    const first = few.inject({ url: "/a/0x1" });
    await new Promise(setImmediate);
    const refused = await few.inject({ url: "/a/0x2" });
    assert.equal(refused.statusCode, 503);
    const wanted = 'expected at most 1 simultaneous requests for "page", found 2';
    assert.equal(refused.json().error.message, `${wanted}: try again in a second`);
    const shed = await metrics.registry.getSingleMetricAsString("http_shed_total");
    assert.match(shed, /\{route="page"\} 1$/m);
    open();
    assert.equal((await first).statusCode, 200);
    assert.equal((await few.inject({ url: "/a/0x2" })).statusCode, 200);
    await few.close();
  });

  test("sets a strict content security policy", async () => {
    for (const url of ["/", "/a/0x1", "/mark.svg", "/assets/main-BX3k_9aQ.js"]) {
      const { headers } = await app.inject({ url });
      const policy = String(headers["content-security-policy"]);
      for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
        assert.ok(policy.split("; ").includes(part), `${url}: ${policy}`);
      }
      // Only the payment page shows wallets' icons, which are data URLs.
      const others = url.startsWith("/a/0x") ? policy.replace("img-src 'self' data:", "") : policy;
      assert.ok(!/unsafe|\*|data:|http/.test(others), policy);
      assert.equal(headers["referrer-policy"], "no-referrer");
      assert.equal(headers["access-control-allow-origin"], undefined);
      assert.equal(headers["strict-transport-security"], undefined);
    }
    const { headers } = await onHttps.inject({ url: "/" });
    assert.match(String(headers["strict-transport-security"]), /^max-age=\d{8}/);
  });

  test("lets only the dashboard connect to the node of a local chain", async () => {
    const local = Fastify();
    const localNodes = ["http://127.0.0.1:8545/"];
    servePages(local, { publicUrl, metrics, localNodes }, async () => undefined, directory);
    const connectAt = async (to: FastifyInstance, url: string) =>
      (await to.inject({ url })).headers["content-security-policy"]
        ?.toString()
        .match(/connect-src [^;]+/)?.[0];
    for (const url of ["/", "/addresses/0x1", "/index.html"]) {
      assert.equal(await connectAt(local, url), "connect-src 'self' http://127.0.0.1:8545", url);
      assert.equal(await connectAt(app, url), "connect-src 'self'", url);
    }
    assert.equal(await connectAt(local, "/a/0x1"), "connect-src 'self'");
    await local.close();
  });

  test("lets a receipt page connect to any https node, but blocks foreign scripts", async () => {
    for (const url of ["/receipt", `/receipt/0x${"1".repeat(40)}`]) {
      const { body, headers } = await app.inject({ url });
      assert.equal(body, "the receipt");
      const policy = String(headers["content-security-policy"]).split("; ");
      const connect = "connect-src 'self' https: http://127.0.0.1:* http://localhost:*";
      for (const part of [connect, "script-src 'self'", "default-src 'none'"])
        assert.ok(policy.includes(part), policy.join());
    }
  });

  test("lets browsers cache files forever if their names contain a hash", async () => {
    const hashed = await app.inject({ url: "/assets/main-BX3k_9aQ.js" });
    assert.equal(hashed.headers["cache-control"], "public, max-age=31536000, immutable");
    for (const url of ["/", "/mark.svg", "/a/0x1"]) {
      assert.equal((await app.inject({ url })).headers["cache-control"], "no-cache");
    }
  });

  test("returns 304 only if `If-None-Match` contains the `ETag`", async () => {
    const { etag } = (await app.inject({ url: "/" })).headers;
    const ask = async (tags: string) => {
      const answer = await app.inject({ url: "/", headers: { "if-none-match": tags } });
      assert.equal(answer.headers.etag, etag);
      return answer.statusCode;
    };
    for (const tags of [`${etag}`, `W/${etag}`, `"x", ${etag}`, "*"])
      assert.equal(await ask(tags), 304, tags);
    for (const tags of ['"x"', '"x", *', `x${etag}`, `${etag}x`])
      assert.equal(await ask(tags), 200, tags);
  });

  test("throws an error if a file has an unknown extension", () => {
    const odd = mkdtempSync(join(tmpdir(), "pages-"));
    writeFileSync(join(odd, "page.php"), "");
    const mount = () => servePages(Fastify(), { publicUrl, metrics }, async () => undefined, odd);
    assert.throws(mount, /page\.php has a file type/);
    rmSync(odd, { recursive: true });
  });

  test("sets a different `ETag` if a file is compressed", async () => {
    const url = "/assets/main-BX3k_9aQ.js";
    const plain = await app.inject({ url });
    assert.equal(plain.body, script);
    for (const encoding of ["identity", "br", "gzip;q=0", "x-gzip-not"]) {
      const answer = await app.inject({ url, headers: { "accept-encoding": encoding } });
      assert.equal(answer.headers["content-encoding"], undefined, encoding);
    }
    const headers = { "accept-encoding": "br;q=1, gzip;q=0.8" };
    const packed = await app.inject({ url, headers });
    assert.equal(packed.headers["content-encoding"], "gzip");
    assert.equal(gunzipSync(packed.rawPayload).toString(), script);
    assert.notEqual(packed.headers.etag, plain.headers.etag);
    assert.equal(packed.headers.vary, "Accept-Encoding");
    const ifNoneMatch = { "if-none-match": String(packed.headers.etag) };
    assert.equal((await app.inject({ url, headers: ifNoneMatch })).statusCode, 200);
    const again = await app.inject({ url, headers: { ...headers, ...ifNoneMatch } });
    assert.equal(again.statusCode, 304);
  });
});
