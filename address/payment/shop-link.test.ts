import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AddressRecord, Call, Hex } from "../intent/intent.ts";
import { makeRecord } from "../record.ts";
import { sample } from "../test/samples.ts";
import { originOf, proveShop, readShopClaim, signShopLink } from "./shop-link.ts";

const base64 = (bytes: ArrayBuffer) => Buffer.from(bytes).toString("base64");

async function newKey() {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const { publicKey, privateKey } = pair as { publicKey: CryptoKeyLike; privateKey: CryptoKeyLike };
  return {
    publicKey: base64(await crypto.subtle.exportKey("raw", publicKey)),
    privateKey: base64(await crypto.subtle.exportKey("pkcs8", privateKey)),
  };
}
type CryptoKeyLike = Parameters<typeof crypto.subtle.exportKey>[1];

const { publicKey, privateKey } = await newKey();
const stranger = await newKey();
const shop = "shop.example";
const seller: Hex = "0x1111111111111111111111111111111111111111";
const thief: Hex = "0x2222222222222222222222222222222222222222";
const pay = (target: Hex): Call => ({ target, function: "pay(uint256 order)", args: ["1"] });
const recordOf = (...calls: Call[]): AddressRecord => makeRecord({ ...sample, calls });
const sold = recordOf(pay(seller));
const pageOf = ({ address }: AddressRecord) => `https://pay.example/a/${address}`;
const claimOf = async (record: AddressRecord, options = {}) => {
  const link = await signShopLink(pageOf(record), { shop, order: "77", privateKey, ...options });
  return readShopClaim(new URL(link).search)!;
};
const signing = { version: 1, name: "A Shop", keys: [publicKey] };
const account = `eip155:${sample.chainId}:${seller}`;
const naming = { version: 1, name: "A Shop", accounts: [account] };
const unsigned = { shop, order: undefined, signature: undefined };

describe("proveShop", () => {
  test("proveShop returns undefined if the shop's file is invalid", async () => {
    const claim = await claimOf(sold);
    for (const manifest of [
      ...[undefined, null, 7, "text", [], {}],
      { ...signing, version: 2 },
      { ...signing, name: "A\u202eShop" },
      { ...signing, name: "" },
      { ...signing, name: "A".repeat(65) },
      { ...signing, keys: "all" },
      { ...signing, keys: [7, null, "", "AAAA", `${publicKey}AAAA`] },
    ])
      assert.equal(await proveShop(manifest, claim, sold), undefined, JSON.stringify(manifest));
  });

  test("proveShop returns undefined if the signature is not for this link", async () => {
    const claim = await claimOf(sold);
    const other = recordOf(pay(thief));
    for (const [name, refuted, record] of [
      ["key", await claimOf(sold, { privateKey: stranger.privateKey }), sold],
      ["address", claim, other],
      ["order", { ...claim, order: "78" }, sold],
      ["no order", { ...claim, order: undefined }, sold],
      ["shop", { ...claim, shop: "evil.example" }, sold],
      ["no signature", { ...claim, signature: undefined }, sold],
      ["a cut signature", { ...claim, signature: claim.signature!.slice(2) }, sold],
    ] as const)
      assert.equal(await proveShop(signing, refuted, record), undefined, name);
  });

  test("proveShop returns undefined if the shop's file does not list every recipient", async () => {
    const approve = (spender: Hex): Call => ({
      target: sample.token,
      function: "approve(address spender, uint256 amount)",
      args: [spender, "1"],
    });
    const burn = { target: sample.token, function: "burn(uint256 amount)", args: ["1"] };
    for (const calls of [
      [pay(thief)],
      [pay(seller), pay(thief)],
      [approve(thief), pay(seller)],
      [burn, pay(seller)],
    ])
      assert.equal(await proveShop(naming, unsigned, recordOf(...calls)), undefined);
    const elsewhere = { ...naming, accounts: [`eip155:${sample.chainId + 1}:${seller}`] };
    assert.equal(await proveShop(elsewhere, unsigned, sold), undefined);
  });

  test("proveShop returns undefined if the order is not signed", async () => {
    assert.equal(await proveShop(naming, { ...unsigned, order: "77" }, sold), undefined);
  });
});

test("originOf accepts only a host name with an optional port", () => {
  for (const text of [
    ...["", "shop", "10.0.0.1", "169.254.169.254", "[::1]", "shop.example/x", "a@shop.example"],
    ...[
      "Shop.example",
      "shop.example:",
      "shop..example",
      "shop.example?x",
      "0x7f.1",
      "ünï.example",
    ],
  ])
    assert.equal(originOf(text), undefined, text);
  assert.equal(originOf("shop.example:8443"), "https://shop.example:8443");
  assert.equal(originOf("localhost:3000"), "http://localhost:3000");
});

test("signShopLink refuses invalid input with an error that does not contain the key", async () => {
  const options = { shop, order: "77", privateKey };
  const page = pageOf(sold);
  await assert.rejects(signShopLink("https://pay.example/a/0x12", options), {
    name: "InvalidError",
    message: 'page: expected an address: 0x and 40 hex digits, found "0x12"',
  });
  for (const [wrong, found] of [
    ["10.0.0.1", '"10.0.0.1"'],
    ["Shop.example\u202e", '"Shop.exampleU+202E"'],
    [`${"a".repeat(80)}b`, `"${"a".repeat(80)}"`],
    [undefined, "nothing"],
  ] as const)
    await assert.rejects(signShopLink(page, { ...options, shop: wrong as string }), {
      name: "TypeError",
      message: `shop: expected a lowercase domain, found ${found}`,
    });
  for (const [order, found] of [
    ["", '""'],
    [" ", '" "'],
    ["7\u20287", '"7U+20287"'],
    ["7\n7", '"7U+000A7"'],
    ["7".repeat(65), `"${"7".repeat(65)}"`],
    [7, "a number"],
  ] as const)
    await assert.rejects(signShopLink(page, { ...options, order: order as string }), {
      name: "TypeError",
      message: `order: expected 1 to 64 visible characters, found ${found}`,
    });
  await assert.rejects(signShopLink(page, { ...options, privateKey: publicKey }), {
    name: "TypeError",
    message:
      "expected an Ed25519 private key: PKCS #8 in base64, " +
      `found ${publicKey.length} characters`,
  });
});

describe("proveShop", () => {
  test("proveShop returns the shop if one of its keys signed the link", async () => {
    const keys = [stranger.publicKey, publicKey];
    const found = await proveShop({ ...signing, keys }, await claimOf(sold), sold);
    assert.deepEqual(found, { shop, name: "A Shop", order: "77", logo: undefined });
  });

  test("proveShop returns the shop if the shop's file lists the payment's recipient", async () => {
    const proved = { shop, name: "A Shop", order: undefined, logo: undefined };
    assert.deepEqual(await proveShop(naming, unsigned, sold), proved);
    const itself = `eip155:${sample.chainId}:${sold.address}`;
    assert.deepEqual(await proveShop({ ...naming, accounts: [itself] }, unsigned, sold), proved);
  });

  test("proveShop returns a logo only from the shop's origin", async () => {
    const logoOf = async (logo: unknown) =>
      (await proveShop({ ...naming, logo }, unsigned, sold))?.logo;
    for (const logo of ["https://evil.example/logo.png", "//evil.example/x", "data:,x", 7])
      assert.equal(await logoOf(logo), undefined);
    assert.equal(await logoOf("/logo.svg"), "https://shop.example/logo.svg");
  });
});
