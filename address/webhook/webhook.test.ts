import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, test } from "node:test";
import { verifyWebhook, type WebhookOptions } from "./webhook.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const nowSeconds = 1_800_000_000;
const options: WebhookOptions = { secret, now: nowSeconds * 1000 };

/** Returns the headers of a delivery. The signature is valid even if `body` is not an event. */
function headersOf(body: string, id = "evt_1", timestamp: number | string = nowSeconds) {
  const hmac = createHmac("sha256", Buffer.alloc(32, 7)).update(`${id}.${timestamp}.${body}`);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${hmac.digest("base64")}`,
  };
}

describe("verifyWebhook", () => {
  const body = '{"id":"evt_1"}';
  const { "webhook-id": _, ...withoutId } = headersOf(body);
  const refusals: [why: string, body: string, headers: Record<string, string>, RegExp][] = [
    ["a header is missing", body, withoutId, /webhook-id/],
    [
      "the timestamp is not a number",
      body,
      headersOf(body, "evt_1", "soon"),
      /^webhook-timestamp: expected seconds, found "soon"$/,
    ],
    [
      "the timestamp is too old",
      body,
      headersOf(body, "evt_1", nowSeconds - 301),
      /^webhook-timestamp: expected a time within 300 s of now, found 1799999699$/,
    ],
    [
      "the timestamp is too far in the future",
      body,
      headersOf(body, "evt_1", nowSeconds + 301),
      /^webhook-timestamp: expected a time within 300 s of now, found 1800000301$/,
    ],
    [
      "another body was signed",
      `${body} `,
      headersOf(body),
      /^webhook-signature: expected a signature that matches the secret, found none among 1$/,
    ],
    ["the body is not JSON", "{", headersOf("{"), /^expected a body of JSON, found 1 characters$/],
    [
      "the event's ID differs from the header",
      body,
      headersOf(body, "evt_2"),
      /^id: expected the webhook-id "evt_2", found "evt_1"$/,
    ],
  ];
  for (const [why, text, headers, message] of refusals) {
    test(`verifyWebhook throws \`WebhookError\` if ${why}`, () =>
      assert.rejects(verifyWebhook(text, headers, options), { name: "WebhookError", message }));
  }

  test("verifyWebhook throws `TypeError` for invalid options", async () => {
    const wrong: [WebhookOptions, string][] = [
      [{}, "expected a secret or a publicKey, found neither"],
      [{ secret, publicKey: "whpk_" }, "expected a secret or a publicKey, found both"],
      [{ secret: "7" }, "secret: expected whsec_ and base64, found 1 characters"],
      [
        { publicKey: secret },
        `publicKey: expected whpk_ and base64, found ${secret.length} characters`,
      ],
      [
        { secret, tolerance: 5 } as WebhookOptions,
        "tolerance: unknown option, expected one of secret, publicKey, toleranceSeconds, now",
      ],
    ];
    for (const [given, message] of wrong) {
      const verified = verifyWebhook(body, headersOf(body), { now: nowSeconds * 1000, ...given });
      await assert.rejects(verified, { name: "TypeError", message });
    }
  });

  test("verifyWebhook names the option of a malformed key, and does not show the key", async () => {
    for (const [given, message] of [
      [{ secret: "whsec_§§" }, "secret: expected whsec_ and base64, found 8 characters"],
      [{ secret: "whsec_" }, "secret: expected whsec_ and base64, found 6 characters"],
      [{ secret: [secret, "whsec_a"] }, "secret: expected whsec_ and base64, found 7 characters"],
      [{ publicKey: "whpk_§" }, "publicKey: expected whpk_ and base64, found 6 characters"],
      [{ publicKey: "whpk_AAAA" }, "publicKey: expected whpk_ and base64, found 9 characters"],
    ] as const)
      await assert.rejects(
        verifyWebhook(body, headersOf(body), { now: nowSeconds * 1000, ...given }),
        {
          name: "TypeError",
          message,
        },
      );
  });

  test("verifyWebhook throws `TypeError` if the list of keys is empty", async () => {
    for (const [given, message] of [
      [{ secret: [] }, "secret: expected at least one, found none"],
      [{ publicKey: [] }, "publicKey: expected at least one, found none"],
    ] as const)
      await assert.rejects(verifyWebhook(body, headersOf(body), given), {
        name: "TypeError",
        message,
      });
  });

  test("verifyWebhook accepts no tolerance or time that would permit replays", async () => {
    const old = headersOf(body, "evt_1", 1);
    for (const [given, found] of [
      [{ toleranceSeconds: Number.NaN }, "toleranceSeconds: .*, found NaN"],
      [{ toleranceSeconds: Number.POSITIVE_INFINITY }, "toleranceSeconds: .*, found Infinity"],
      [{ toleranceSeconds: -1 }, "toleranceSeconds: .*, found -1"],
      [{ toleranceSeconds: "300" as unknown as number }, 'toleranceSeconds: .*, found "300"'],
      [{ now: Number.NaN }, "now: .*, found NaN"],
    ] as const)
      await assert.rejects(verifyWebhook(body, old, { ...options, ...given }), {
        name: "TypeError",
        message: new RegExp(`^${found.replace(".*", "expected a finite number of at least 0")}$`),
      });
  });

  test("verifyWebhook accepts a timestamp within 300 s of now", async () => {
    for (const seconds of [-300, 0, 300]) {
      const headers = headersOf(body, "evt_1", nowSeconds + seconds);
      assert.deepEqual(await verifyWebhook(body, headers, options), { id: "evt_1" });
    }
  });
});
