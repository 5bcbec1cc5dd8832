import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { canonicalList, explainOrigin, findAllowing, judgeOrigin } from "./origins.ts";

/** Entries that the service rejects, each with the error code. */
const refused: [entry: unknown, code: string][] = [
  ["", "required"],
  [undefined, "required"],
  [null, "required"],
  [42, "required"],
  [["https://a.com"], "required"],
  ["null", "null"],
  ["*", "scheme"],
  ["example.com", "scheme"],
  ["app.example.com:443", "scheme"],
  ["//example.com", "scheme"],
  ["https:example.com", "scheme"],
  ["https:/example.com", "scheme"],
  ["https://", "host"],
  ["https:///", "host"],
  ["https://xn--a.example", "host"],
  ["https://*.xn--zzzzz99999999.example", "host"],
  ["https:///example.com", "path"],
  ["ftp://example.com", "scheme"],
  ["ws://example.com", "scheme"],
  ["wss://example.com", "scheme"],
  ["file:///etc/passwd", "path"],
  ["file://host", "scheme"],
  ["data:text/html,x", "list"],
  ["javascript:alert(1)", "scheme"],
  ["chrome-extension://abcdefghijklmnop", "scheme"],
  ["moz-extension://abc", "scheme"],
  ["capacitor://localhost", "scheme"],
  ["https://example.com/path", "path"],
  ["https://example.com//", "path"],
  ["https://example.com/.", "path"],
  ["https://example.com?q=1", "path"],
  ["https://example.com/?", "path"],
  ["https://example.com?", "path"],
  ["https://example.com#x", "path"],
  ["https://example.com/#", "path"],
  ["https://user@example.com", "userinfo"],
  ["https://@example.com", "userinfo"],
  ["https://user:pw@example.com", "userinfo"],
  ["https://example.com\\", "character"],
  ["https:\\\\example.com", "character"],
  ["https://example.com\\@evil.com", "character"],
  [" https://example.com", "character"],
  ["https://example.com ", "character"],
  ["https://exa mple.com", "character"],
  ["https://exam\tple.com", "character"],
  ["https://example.com\n", "character"],
  ["https://exam\u0000ple.com", "character"],
  ["https://exam\u00adple.com", "character"],
  ["https://exam\u200bple.com", "character"],
  ["https://\u202emoc.elpmaxe", "character"],
  ["https://example.com\u3000", "character"],
  ["https://ex%61mple.com", "character"],
  ["https://[fe80::1%25eth0]", "character"],
  ["https://a.com,https://b.com", "list"],
  ["https://a.com https://b.com", "character"],
  ["https://a.com;https://b.com", "list"],
  ["https://example.com.", "host"],
  ["https://*.example.com.", "host"],
  ["https://.example.com", "host"],
  ["https://a..example.com", "host"],
  ["https://-a.example.com", "host"],
  ["https://a-.example.com", "host"],
  ["https://exa$mple.com", "host"],
  ["https://exa<mple.com", "host"],
  [`https://${"a".repeat(64)}.com`, "host"],
  [`https://${"a.".repeat(126)}com`, "host"],
  [`https://${"a".repeat(400)}.com`, "too_long"],
  ["https://1.2.3", "host"],
  ["https://0x7f.1", "host"],
  ["https://2130706433", "host"],
  ["https://0177.0.0.1", "host"],
  ["https://256.1.1.1", "host"],
  ["https://[::1", "host"],
  ["https://::1", "port-or-host"],
  ["https://[::g]", "host"],
  ["https://[1.2.3.4]", "host"],
  ["https://example.com:", "port"],
  ["https://example.com:0", "port"],
  ["https://example.com:0443", "port"],
  ["https://example.com:65536", "port"],
  ["https://example.com:99999", "port"],
  ["https://example.com:+80", "port"],
  ["https://example.com:8_0", "port"],
  ["https://example.com:*", "port"],
  ["https://*", "wildcard"],
  ["https://*.", "host"],
  ["https://**.example.com", "wildcard"],
  ["https://*.*.example.com", "wildcard"],
  ["https://*example.com", "wildcard"],
  ["https://app*.example.com", "wildcard"],
  ["https://app.*.example.com", "wildcard"],
  ["https://example.*", "wildcard"],
  ["https://＊.example.com", "host"],
  ["*.example.com", "scheme"],
  ["*://example.com", "scheme"],
  ["https://*.com", "public_suffix"],
  ["https://*.co.uk", "public_suffix"],
  ["https://*.github.io", "public_suffix"],
  ["https://*.GitHub.io", "public_suffix"],
  ["https://*.vercel.app", "public_suffix"],
  ["https://*.pages.dev", "public_suffix"],
  ["https://*.s3.amazonaws.com", "public_suffix"],
  ["https://*.公司.cn", "public_suffix"],
  ["https://*.xn--55qx5d.cn", "public_suffix"],
  ["https://*.kawasaki.jp", "public_suffix"],
  ["https://*.foo.ck", "public_suffix"],
  ["https://*.localhost", "public_suffix"],
  ["https://*.intranet", "public_suffix"],
  ["https://*.github.io:8443", "public_suffix"],
  ["https://*.1.2.3.4", "wildcard"],
  ["https://*.[::1]", "wildcard"],
  ["http://example.com", "insecure"],
  ["http://example.com:8080", "insecure"],
  ["http://*.localhost:3000", "insecure"],
  ["http://*.example.com", "insecure"],
  ["http://app.localhost:3000", "insecure"],
  ["http://127.0.0.2:3000", "insecure"],
  ["http://0.0.0.0:3000", "insecure"],
  ["http://192.168.1.10:3000", "insecure"],
  ["http://[::1]:3000", "insecure"],
  ["http://localhost.evil.com:3000", "insecure"],
  ["http://localhost.:3000", "host"],
  ["http://127.1:3000", "host"],
  ["http://localhost", "port"],
  ["http://127.0.0.1", "port"],
  ["http://localhost:80", "port"],
  ["http://localhost:", "port"],
];

/** Entries that the service accepts, each with its canonical form. */
const accepted: [entry: string, canonical: string][] = [
  ["https://app.example.com", "https://app.example.com"],
  ["https://app.example.com/", "https://app.example.com"],
  ["HTTPS://App.Example.COM", "https://app.example.com"],
  ["https://example.com:443", "https://example.com"],
  ["https://example.com:443/", "https://example.com"],
  ["https://example.com:8443", "https://example.com:8443"],
  ["https://example.com:80", "https://example.com:80"],
  ["https://example.com:65535", "https://example.com:65535"],
  ["https://bücher.example", "https://xn--bcher-kva.example"],
  ["https://BÜCHER.example", "https://xn--bcher-kva.example"],
  ["https://faß.de", "https://xn--fa-hia.de"],
  ["https://xn--bcher-kva.example", "https://xn--bcher-kva.example"],
  ["https://例え.jp", "https://xn--r8jz45g.jp"],
  ["https://my_app.example.com", "https://my_app.example.com"],
  ["https://a--b.example.com", "https://a--b.example.com"],
  ["https://localhost", "https://localhost"],
  ["https://localhost:3000", "https://localhost:3000"],
  ["https://intranet", "https://intranet"],
  ["https://alice.github.io", "https://alice.github.io"],
  ["https://github.io", "https://github.io"],
  ["https://192.0.2.7", "https://192.0.2.7"],
  ["https://192.0.2.7:8443", "https://192.0.2.7:8443"],
  ["https://[2001:DB8::0:1]", "https://[2001:db8::1]"],
  ["https://[2001:db8::1]:443", "https://[2001:db8::1]"],
  ["https://*.example.com", "https://*.example.com"],
  ["https://*.example.com/", "https://*.example.com"],
  ["https://*.EXAMPLE.com:443", "https://*.example.com"],
  ["https://*.example.com:8443", "https://*.example.com:8443"],
  ["https://*.app.example.com", "https://*.app.example.com"],
  ["https://*.bücher.example", "https://*.xn--bcher-kva.example"],
  ["https://*.alice.github.io", "https://*.alice.github.io"],
  ["https://*.example.co.uk", "https://*.example.co.uk"],
  ["https://*.www.ck", "https://*.www.ck"],
  ["https://*.city.kawasaki.jp", "https://*.city.kawasaki.jp"],
  ["http://localhost:3000", "http://localhost:3000"],
  ["http://LOCALHOST:3000/", "http://localhost:3000"],
  ["http://localhost:443", "http://localhost:443"],
  ["http://127.0.0.1:5173", "http://127.0.0.1:5173"],
];

const allowed = [
  "https://app.example.com",
  "https://*.example.com:8443",
  "https://*.wild.example",
  "https://*.alice.github.io",
  "https://*.xn--bcher-kva.example",
  "https://odd.example:4430",
  "https://192.0.2.7",
  "https://[2001:db8::1]",
  "http://localhost:3000",
  "http://127.0.0.1:5173",
];

/** The origins of requests, each with the matching entry of `allowed`, if any. */
const requests: [origin: string, allowedBy: string | undefined][] = [
  ["", undefined],
  ["null", undefined],
  ["*", undefined],
  ["https://*.wild.example", undefined],
  ["https://*.b.wild.example", undefined],
  ["https://", undefined],
  ["https://.", undefined],
  ["app.example.com", undefined],
  ["https://app.example.com/", undefined],
  ["https://app.example.com/x", undefined],
  ["https://app.example.com?", undefined],
  ["https://app.example.com#", undefined],
  ["https://app.example.com.", undefined],
  ["https://app.example.com:443", undefined],
  ["https://app.example.com:8443.", undefined],
  ["https://app.example.com:444", undefined],
  ["https://APP.example.com", undefined],
  ["HTTPS://app.example.com", undefined],
  ["http://app.example.com", undefined],
  ["wss://app.example.com", undefined],
  [" https://app.example.com", undefined],
  ["https://app.example.com ", undefined],
  ["https://app.example.com\t", undefined],
  ["https://app.example.com, https://app.example.com", undefined],
  ["https://app.example.com https://evil.com", undefined],
  ["https://user@app.example.com", undefined],
  ["https://app.example.com@evil.com", undefined],
  ["https://app.example.com\\@evil.com", undefined],
  ["https://app%2eexample.com", undefined],
  ["https://evilapp.example.com", undefined],
  ["https://app.example.com.evil.com", undefined],
  ["https://example.com", undefined],
  ["https://b.app.example.com", undefined],
  ["https://wild.example", undefined],
  ["https://evilwild.example", undefined],
  ["https://.wild.example", undefined],
  ["https://..wild.example", undefined],
  ["https://a..wild.example", undefined],
  ["https://-.wild.example", undefined],
  ["https://a.wild.example.", undefined],
  ["https://a.wild.example.evil.com", undefined],
  ["https://a.wild.example:8443", undefined],
  ["https://a.wild.example:443", undefined],
  ["https://A.wild.example", undefined],
  ["http://a.wild.example", undefined],
  ["https://evil.com#.wild.example", undefined],
  ["https://evil.com/.wild.example", undefined],
  ["https://evil.com?.wild.example", undefined],
  ["https://evil.com\\.wild.example", undefined],
  ["https://evil.com@a.wild.example", undefined],
  [`https://${"a".repeat(64)}.wild.example`, undefined],
  [`https://${"a.".repeat(200)}wild.example`, undefined],
  ["https://bob.github.io", undefined],
  ["https://alice.github.io", undefined],
  ["https://x.bücher.example", undefined],
  ["https://odd.example", undefined],
  ["https://a.example.com", undefined],
  ["https://192.0.2.8", undefined],
  ["https://1.192.0.2.7", undefined],
  ["https://[2001:db8::2]", undefined],
  ["http://localhost", undefined],
  ["http://localhost:3001", undefined],
  ["https://localhost:3000", undefined],
  ["http://127.0.0.1:3000", undefined],
  ["https://app.example.com", "https://app.example.com"],
  ["https://a.example.com:8443", "https://*.example.com:8443"],
  ["https://app.example.com:8443", "https://*.example.com:8443"],
  ["https://a.wild.example", "https://*.wild.example"],
  ["https://a.b.c.wild.example", "https://*.wild.example"],
  ["https://wild.example.wild.example", "https://*.wild.example"],
  ["https://xn--r8jz45g.wild.example", "https://*.wild.example"],
  ["https://my_app.wild.example", "https://*.wild.example"],
  ["https://demo.alice.github.io", "https://*.alice.github.io"],
  ["https://x.xn--bcher-kva.example", "https://*.xn--bcher-kva.example"],
  ["https://odd.example:4430", "https://odd.example:4430"],
  ["https://192.0.2.7", "https://192.0.2.7"],
  ["https://[2001:db8::1]", "https://[2001:db8::1]"],
  ["http://localhost:3000", "http://localhost:3000"],
  ["http://127.0.0.1:5173", "http://127.0.0.1:5173"],
];

describe("an entry in the list of allowed origins", () => {
  for (const [entry, code] of refused) {
    test(`${JSON.stringify(entry)?.slice(0, 60)} is refused with ${code}`, () => {
      const verdict = judgeOrigin(entry);
      assert.ok(verdict.kind === "refused", `accepted as ${JSON.stringify(verdict)}`);
      assert.ok(code.split("-or-").includes(verdict.code), `${verdict.code}: ${verdict.message}`);
      assert.ok(verdict.message.length > 0);
    });
  }

  for (const [entry, canonical] of accepted) {
    test(`${entry} is stored as ${canonical}`, () => {
      assert.deepEqual(judgeOrigin(entry), { kind: "accepted", canonical });
      assert.deepEqual(judgeOrigin(canonical), { kind: "accepted", canonical });
    });
  }

  test("parsing the canonical form of an entry returns the same form", () => {
    const piece = fc.constantFrom(
      ..."*.:/@ü-_0x7f?#a ",
      ..."https:// http:// *. example com localhost 127.0.0.1 [::1] ü 443 3000 :8443".split(" "),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const verdict = judgeOrigin(`https://${pieces.join("")}`);
        if (verdict.kind === "refused") return;
        assert.deepEqual(judgeOrigin(verdict.canonical), verdict);
        if (!verdict.canonical.includes("*")) {
          assert.equal(new URL(verdict.canonical).origin, verdict.canonical);
        }
      }),
      { numRuns: 5000, seed: 7 },
    );
  });
});

describe("the origin of a request", () => {
  for (const [origin, allowedBy] of requests) {
    test(`${JSON.stringify(origin).slice(0, 60)} matches ${allowedBy ?? "nothing"}`, () => {
      assert.equal(findAllowing(origin, allowed), allowedBy);
    });
  }

  test("an empty list allows none of the origins", () => {
    for (const [origin] of requests) assert.equal(findAllowing(origin, []), undefined);
  });

  test("an entry without a wildcard matches only its own origin", () => {
    for (const [, canonical] of accepted.filter(([, c]) => !c.includes("*"))) {
      assert.equal(findAllowing(canonical, [canonical]), canonical);
      assert.equal(findAllowing(`${canonical}.`, [canonical]), undefined);
    }
  });

  test("explainOrigin returns examples of allowed and refused origins for an entry", () => {
    for (const [, canonical] of accepted) {
      const { matches, matchesNot } = explainOrigin(canonical);
      for (const origin of matches) {
        assert.equal(findAllowing(origin, [canonical]), canonical, origin);
        assert.equal(new URL(origin).origin, origin);
      }
      for (const origin of matchesNot) {
        assert.equal(findAllowing(origin, [canonical]), undefined, origin);
        assert.equal(new URL(origin).origin, origin);
      }
      assert.ok(matchesNot.length > 0);
    }
  });
});

describe("a list of allowed origins", () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `https://a${i}.example`);

  test("the 21st origin is refused with `too_many`", () => {
    const result = canonicalList(many(21));
    assert.deepEqual(
      result.issues.map((issue) => issue.code),
      ["too_many"],
    );
  });

  test("20 origins are accepted, and two spellings of one origin count once", () => {
    const result = canonicalList([...many(20), "https://A0.example:443/"]);
    assert.deepEqual(result.origins, many(20));
  });

  test("every refused origin is reported with its index", () => {
    const result = canonicalList(["https://a.example", "https://*.com", "http://b.example"]);
    assert.deepEqual(
      result.issues.map(({ path, code }) => [path, code]),
      [
        [["origins", 1], "public_suffix"],
        [["origins", 2], "insecure"],
      ],
    );
  });
});
