// Tests the references of POST /v1/address/create. The tests include repeated requests, and
// requests from an attacker who uses the public client ID.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { saltFor, verifyReference } from "executable-address/reference";
import { findCredentials } from "../../accounts/account.ts";
import { listAudit } from "../../accounts/audit.ts";
import { allowReferences, rotateClientId } from "../../accounts/client-ids.ts";
import { addOrigin } from "../../accounts/origins/origin-list.ts";
import { ensureReferenceKeys, rotateReferenceKey } from "../../accounts/reference-keys.ts";
import { newIntent, startApp, type TestApp } from "../../testing/app.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { parseReferenced } from "./reference.ts";

const origin = "https://shop.example.com";
type Headers = Record<string, string>;

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`a reference in a create request on ${dialect}`, () => {
    let service: TestApp;
    const start = () => startApp(dialect === "postgres" ? { databaseUrl: postgres.url } : {});
    before(async () => {
      service = await start();
    });
    after(() => service.close());

    /**
     * Creates an account. Returns the headers of the account's server and of a visitor of its page.
     */
    async function shop() {
      const { db } = service.parts.store;
      const { accountId, apiKey } = await service.newKey();
      await addOrigin(db, accountId, origin, { atMs: Date.now() });
      const { clientId } = await findCredentials(db, accountId);
      const server = { authorization: `Bearer ${apiKey}` };
      return { db, accountId, server, page: { "x-client-id": clientId.client_id, origin } };
    }
    const create = (headers: Headers, query: string, intent: object = newIntent()) =>
      service.app.inject({
        method: "POST",
        url: `/v1/address/create?${query}`,
        headers: { ...headers, "content-type": "application/json" },
        payload: JSON.stringify(intent),
      });
    const search = async (headers: Headers, query: Headers) => {
      const url = `/v1/addresses?${new URLSearchParams(query)}`;
      const { items } = (await service.app.inject({ url, headers })).json();
      return items.map((item: Record<string, string | null>) => [
        item.address,
        item.reference,
        item.claimedReference,
        item.createdBy,
      ]);
    };
    const listed = async (headers: Headers, reference: string) => {
      const url = `/v1/addresses?reference=${encodeURIComponent(reference)}`;
      const { items } = (await service.app.inject({ url, headers })).json();
      return items.map((item: { address: string; createdBy: string }) => [
        item.address,
        item.createdBy,
      ]);
    };
    const withoutSalt = () => {
      const { salt: _, ...intent } = newIntent();
      return intent;
    };

    test("is refused with 409 if a web page sets it but a server created the address", async () => {
      const { server, page } = await shop();
      for (const query of ["reference=order-1", ""]) {
        const intent = newIntent();
        const { address } = (await create(server, query, intent)).json();
        const forged = await create(page, "reference=order-9000&again=true", intent);
        assert.equal(forged.statusCode, 409);
        const { code, message } = forged.json().error;
        assert.equal(code, "reference_in_use");
        assert.match(message, /^this address already exists: a client ID can set a reference only/);
        assert.deepEqual(await listed(server, "order-9000"), []);
        if (query) assert.deepEqual(await listed(server, "order-1"), [[address, "api_key"]]);
      }
    });

    test("is refused with 409 if a web page adds or changes it later", async () => {
      const { server, page } = await shop();
      for (const query of ["reference=cart-7", ""]) {
        const intent = newIntent();
        assert.equal((await create(page, query, intent)).statusCode, 200);
        const forged = await create(page, "reference=order-9001", intent);
        assert.deepEqual([forged.statusCode, forged.json().error.code], [409, "reference_in_use"]);
      }
      assert.deepEqual(await listed(server, "order-9001"), []);
    });

    test("is shown as `claimedReference` if it comes from a web page", async () => {
      const { server, page } = await shop();
      const forged = (await create(page, "reference=order-2")).json().address;
      assert.deepEqual(await search(server, { reference: "order-2" }), []);
      const real = (await create(server, "reference=order-2")).json().address;
      const set = [real, "order-2", null, "api_key"];
      const claimed = [forged, null, "order-2", "client_id"];
      for (const [query, rows] of [
        [{ reference: "order-2" }, [set]],
        [{ claimedReference: "order-2" }, [claimed]],
        [{ createdBy: "api_key" }, [set]],
        [{ createdBy: "client_id" }, [claimed]],
        [{ createdBy: "client_id", reference: "order-2" }, []],
        [{ referenceContains: "ORDER", order: "newest" }, [set, claimed]],
      ] as [Headers, unknown[]][]) {
        const found = await search(server, query);
        assert.deepEqual(new Set(found), new Set(rows), JSON.stringify(query));
      }
    });

    test("is refused with 403 if the account forbids references from web pages", async () => {
      const { db, accountId, server, page } = await shop();
      await allowReferences(db, accountId, false, { atMs: Date.now() });
      const refused = await create(page, "reference=order-10");
      assert.deepEqual([refused.statusCode, refused.json().error.code], [403, "forbidden"]);
      assert.deepEqual(refused.json().error.issues[0].path, ["reference"]);
      assert.equal((await create(page, "")).statusCode, 200);
      assert.equal((await create(server, "reference=order-10")).statusCode, 200);
      const rotated = await rotateClientId(db, accountId, page["x-client-id"], { atMs: 1 });
      const other = { ...page, "x-client-id": rotated!.clientId };
      assert.equal((await create(other, "reference=order-11")).statusCode, 403, "it stays refused");
      await allowReferences(db, accountId, true, { atMs: Date.now() });
      assert.equal((await create(other, "reference=order-11")).statusCode, 200);
      const events = (await listAudit(db, accountId, { limit: 10 })).map(({ event }) => event);
      assert.ok(events.includes("client_id_references_refused"));
      assert.ok(events.includes("client_id_references_allowed"));
    });

    test("is refused with 409 if it is in use, and the error contains its address", async () => {
      const { server } = await shop();
      const { address } = (await create(server, "reference=order-3")).json();
      const refused = await create(server, "reference=order-3");
      assert.equal(refused.statusCode, 409);
      assert.equal(refused.json().error.issues[0].message, address);
      assert.equal((await create(server, "reference=order-3&again=true")).statusCode, 200);
      assert.equal((await listed(server, "order-3")).length, 2);
    });

    test("belongs to one address even after eight simultaneous requests", async () => {
      const { server } = await shop();
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => create(server, "reference=order-4")),
      );
      const codes = answers.map(({ statusCode }) => statusCode).toSorted();
      assert.deepEqual(codes, [200, ...Array(7).fill(409)]);
      assert.equal((await listed(server, "order-4")).length, 1);
    });

    test("is set by only one of eight simultaneous requests from web pages", async () => {
      const { page } = await shop();
      const intent = newIntent();
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => create(page, `reference=cart-8${i}`, intent)),
      );
      const refused = answers.filter(({ statusCode }) => statusCode !== 200);
      const codes = refused.map((answer) => answer.json().error.code);
      assert.deepEqual(codes, Array(7).fill("reference_in_use"));
    });

    test("is refused with 400 if it is invalid or repeated", async () => {
      const { server } = await shop();
      for (const [query, message] of [
        ["refrence=order-5", /^Unrecognized key: "refrence"$/],
        ["reference=a&reference=b", /expected string, received array$/],
        ["reference=order-5&again=yes", /, found 3 characters$/],
        ["reference=", /1 to 128 printable characters, found 0 characters$/],
        ["reference=%20", /1 to 128 printable characters, found 1 characters$/],
        ["reference=a%E2%80%8Bb", /1 to 128 printable characters, found 3 characters$/],
        [`reference=${"a".repeat(129)}`, /1 to 128 printable characters, found 129 characters$/],
        [
          `reference=a${"+".repeat(300)}`,
          /^Too big: expected string to have <=300 characters, found 301 characters$/,
        ],
      ] as const) {
        const refused = await create(server, query);
        const { code, issues } = refused.json().error;
        assert.deepEqual([refused.statusCode, code], [400, "invalid_request"], query);
        assert.match(issues[0].message, message);
      }
    });

    test("is refused with 400 `bad_escape` if its percent-encoding is invalid", async () => {
      const { server } = await shop();
      for (const query of ["reference=%zz", "reference=%ff"]) {
        const refused = await create(server, query);
        const { code, issues } = refused.json().error;
        assert.deepEqual([refused.statusCode, code], [400, "invalid_request"], query);
        assert.deepEqual([issues[0].path, issues[0].code], [["query"], "bad_escape"], query);
        assert.match(
          issues[0].message,
          /^expected valid percent-encoded UTF-8, found a query of 13 characters /,
        );
      }
    });

    test("is refused with 400 if it is sent as an `Idempotency-Key` header", async () => {
      const { server } = await shop();
      const keyed = await create({ ...server, "idempotency-key": "1" }, "");
      assert.deepEqual([keyed.statusCode, keyed.json().error.code], [400, "invalid_request"]);
      assert.match(keyed.json().error.message, /Idempotency-Key is not supported/);
    });

    test("can have 300 characters if 128 remain after spaces are removed", async () => {
      const { server } = await shop();
      const spaces = "+".repeat(300 - 128);
      const created = await create(server, `reference=${spaces}${"a".repeat(128)}`);
      assert.equal(created.statusCode, 200);
    });

    test("is stripped of surrounding spaces and normalized to NFC", async () => {
      const { server } = await shop();
      const first = await create(server, `reference=${encodeURIComponent(" caf\u0065\u0301 ")}`);
      assert.equal(first.statusCode, 200);
      const again = await create(server, `reference=${encodeURIComponent("café")}`);
      assert.equal(again.json().error.issues[0].message, first.json().address);
    });

    test("is used to derive a missing salt, so repeated requests return one address", async () => {
      const { db, accountId, server, page } = await shop();
      const intent = withoutSalt();
      const [one, two] = await Promise.all([
        create(server, "reference=order-6", intent),
        create(server, "reference=order-6", intent),
      ]);
      assert.equal(one.body, two.body);
      const record = one.json();
      const [key] = await ensureReferenceKeys(db, accountId, Date.now());
      assert.equal(record.intent.salt, saltFor("order-6", key));
      const trust = { factory: service.parts.factory, accepts: () => true };
      assert.equal(verifyReference(record, "order-6", key, trust).address, record.address);
      const { intent: other } = (await create(page, "reference=order-6", intent)).json();
      assert.notEqual(other.salt, record.intent.salt);
    });

    test("determines the same salt even after a rotation of the reference key", async () => {
      const { db, accountId, server } = await shop();
      const intent = withoutSalt();
      const before = await create(server, "reference=order-7", intent);
      const [old] = await ensureReferenceKeys(db, accountId, Date.now());
      const { referenceKey } = (await rotateReferenceKey(db, accountId, { atMs: Date.now() }))!;
      assert.equal((await create(server, "reference=order-7", intent)).body, before.body);
      const { intent: later } = (await create(server, "reference=order-8", intent)).json();
      assert.equal(later.salt, saltFor("order-8", referenceKey));
      const trust = { factory: service.parts.factory, accepts: () => true };
      verifyReference(before.json(), "order-7", [referenceKey, old], trust);
      assert.throws(() => verifyReference(before.json(), "order-7", referenceKey, trust));
    });

    test("tries earlier keys only if it is in use, and stops at its own key", async () => {
      const { db, accountId, server } = await shop();
      const intent = withoutSalt();
      let hashes = 0;
      const keccak: typeof service.parts.keccak = (bytes) => {
        hashes++;
        return service.parts.keccak(bytes);
      };
      const creator = { accountId, isClientId: false, isBound: false, mayName: true };
      const parse = async (reference: string) => {
        hashes = 0;
        const by = { ...creator, signature: undefined, reference, isAgain: false };
        await parseReferenced(intent, by, { ...service.parts, keccak });
        return hashes;
      };
      await parse("order-12"); // The first call fills the cache of checksums.
      const once = await parse("order-12");
      assert.ok(once > 0);
      const rotate = () => rotateReferenceKey(db, accountId, { atMs: Date.now() });
      for (let rotations = 0; rotations < 3; rotations++) await rotate();
      await create(server, "reference=order-13", intent);
      await rotate();
      assert.equal(await parse("order-12"), once);
      assert.equal(await parse("order-13"), 2 * once);
    });

    test("is refused with 409 if it is repeated after eight key rotations", async () => {
      const { db, accountId, server } = await shop();
      const intent = withoutSalt();
      const repeat = () => create(server, "reference=order-9", intent);
      const before = await repeat();
      const rotate = () => rotateReferenceKey(db, accountId, { atMs: Date.now() });
      for (let rotations = 0; rotations < 7; rotations++) await rotate();
      assert.equal((await repeat()).body, before.body);
      await rotate();
      const { statusCode, json } = await repeat();
      assert.deepEqual([statusCode, json().error.code], [409, "reference_in_use"]);
    });
  });
}
