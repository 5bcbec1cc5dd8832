import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../../testing/app.ts";

const url = "/.well-known/security.txt";

test("security.txt returns 404 if the operator has not set a contact", async () => {
  const service = await startApp();
  const answer = await service.app.inject({ url });
  assert.equal(answer.json().error.code, "unknown_path");
  assert.equal(answer.statusCode, 404);
  await service.close();
});

test("security.txt contains a contact and expires within a year", async () => {
  const contact = "mailto:security@pay.example";
  let nowMs = Date.UTC(2026, 10, 23, 12);
  const service = await startApp({ securityContact: contact, now: () => nowMs });
  for (const days of [0, 1, 300, 900]) {
    nowMs = Date.UTC(2026, 10, 23 + days, 23, 59);
    const { body, headers, statusCode } = await service.app.inject({ url });
    assert.equal(statusCode, 200);
    assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    const fields = Object.fromEntries(
      body
        .trimEnd()
        .split("\n")
        .map((line) => line.split(/: (.*)/)),
    );
    assert.deepEqual(Object.keys(fields), ["Contact", "Expires", "Canonical"]);
    assert.equal(fields.Contact, contact);
    assert.equal(fields.Canonical, `${service.parts.publicUrl}${url}`);
    const aheadDays = (Date.parse(fields.Expires) - nowMs) / 86_400_000;
    assert.ok(aheadDays > 170 && aheadDays < 365, fields.Expires);
  }
  assert.equal((await service.app.inject({ method: "POST", url })).statusCode, 405);
  await service.close();
});
