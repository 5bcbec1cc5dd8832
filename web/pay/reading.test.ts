import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Call, type Hex, type Intent, makeRecord } from "executable-address";
import { type Chain, readChains } from "./chains.ts";
import { partsOf, signatureOf } from "./function.ts";
import { owed, paymentLink, transferCalldata } from "./payment.ts";
import { hazardsOf, sayAmount, sayCall, sayParty } from "./reading.ts";

const token: Hex = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const other: Hex = "0x1111111111111111111111111111111111111111";
const usdc = { symbol: "USDC", address: token, decimals: 6 };
const chains: Chain[] = [{ chainId: 1, name: "Ethereum", tokens: [usdc] }];
const now = 1_800_000_000;
const unlimited = (2n ** 256n - 1n).toString();

const intentOf = (...calls: Call[]): Intent => ({
  token,
  amount: "25000000",
  calls,
  expirationTimestamp: now + 86_400,
  recovery: other,
  salt: `0x${"00".repeat(32)}`,
  chainId: 1,
});
const call = (text: string, ...args: string[]): Call => ({ target: token, function: text, args });
const approve = (amount: string) => call("approve(address spender, uint256 amount)", other, amount);
const titles = (intent: Intent, at = now, listed = chains) =>
  hazardsOf(intent, listed, at).map(({ tone, title }) => `${tone}: ${title}`);

describe("what a payer is warned of", () => {
  test("an unlimited approval", () =>
    assert.deepEqual(titles(intentOf(approve(unlimited))), [
      "bad: Call 1 gives an unlimited permission",
    ]));

  test("an unlimited approval under other parameter names", () =>
    assert.deepEqual(
      titles(intentOf(call("approve(address receipt, uint256 orderNumber)", other, unlimited))),
      ["bad: Call 1 gives an unlimited permission"],
    ));

  test("an unlimited approval through Permit2", () => {
    const text = "approve(address token, address spender, uint160 amount, uint48 expiration)";
    const call: Call = {
      target: other,
      function: text,
      args: [token, other, (2n ** 160n - 1n).toString(), "1"],
    };
    assert.deepEqual(titles(intentOf(call)), ["bad: Call 1 gives an unlimited permission"]);
  });

  test("a function that has the selector of a well-known other one", () =>
    assert.deepEqual(
      titles(
        intentOf(call("sign_szabo_bytecode(bytes16 a, uint128 b)", `0x${"11".repeat(16)}`, "1")),
      ),
      ["bad: Call 1 is another function than it says"],
    ));

  test("a name that Solidity keeps for itself", () =>
    assert.deepEqual(titles(intentOf(call("f(bool memory)", "true"))), [
      "warn: Call 1 has a misleading name",
    ]));

  test("an approval of more than is paid", () =>
    assert.deepEqual(titles(intentOf(approve("25000001"))), [
      "warn: Call 1 permits more than is paid",
    ]));

  test("a whole collection handed over", () =>
    assert.deepEqual(
      titles(intentOf(call("setApprovalForAll(address operator, bool approved)", other, "true"))),
      ["bad: Call 1 hands over a whole collection"],
    ));

  test("characters that would not show", () =>
    assert.deepEqual(titles(intentOf(call("note(string text)", "pay \u202eecila"))), [
      "warn: Call 1 contains characters that would not show",
    ]));

  test("a token that is not listed, and a chain that is not", () => {
    assert.deepEqual(titles({ ...intentOf(approve("1")), token: other }), ["warn: Unknown token"]);
    assert.deepEqual(titles({ ...intentOf(approve("1")), chainId: 2 }), ["warn: Unknown token"]);
    assert.deepEqual(titles(intentOf(approve("1")), now, []), ["warn: Unknown token"]);
  });

  test("an expiry that is past or near, the last second included", () => {
    const intent = intentOf(approve("1"));
    const expiry = intent.expirationTimestamp;
    assert.deepEqual(titles(intent, expiry + 1), ["bad: Expired: do not pay"]);
    assert.deepEqual(titles(intent, expiry), ["warn: Expires within minutes"]);
    assert.deepEqual(titles(intent, expiry - 15 * 60), []);
  });

  test("nothing, where all is ordinary", () =>
    assert.deepEqual(titles(intentOf(approve("25000000"))), []));
});

describe("what a call does, in words", () => {
  test("the functions of a listed token", () => {
    assert.deepEqual(
      sayCall(call("transfer(address to, uint256 amount)", other, "1500000"), usdc),
      ["Sends 1.5 USDC to ", { address: other }],
    );
    assert.deepEqual(sayCall(approve(unlimited), usdc), [
      "Lets ",
      { address: other },
      " take up to an unlimited amount from here",
    ]);
  });

  test("nothing is explained on an unlisted contract or under other types", () => {
    assert.equal(sayCall(approve("1"), undefined), undefined);
    assert.equal(
      sayCall(call("transfer(address to, uint128 amount)", other, "1"), usdc),
      undefined,
    );
  });

  test("amounts of an unknown token stay base units", () => {
    assert.equal(sayAmount("1500000", undefined), "1,500,000 base units");
    assert.equal(sayAmount("1", usdc), "0.000001 USDC");
  });

  test("parties are named only where the record itself names them", () => {
    const record = makeRecord(intentOf(approve("1")));
    assert.equal(sayParty(record.address.toLowerCase(), record), "this very address");
    assert.equal(sayParty(other, record), "the recovery address");
    assert.equal(sayParty("0x2222222222222222222222222222222222222222", record), undefined);
  });
});

describe("the chain list of the server", () => {
  test("keeps whole entries only: a token that cannot be shown honestly is unknown", () => {
    const tokens = [
      usdc,
      { ...usdc, decimals: -1 },
      { ...usdc, decimals: 1e9 },
      { ...usdc, decimals: "6" },
      { ...usdc, symbol: "US\u202eDC" },
      { ...usdc, symbol: "" },
      { ...usdc, symbol: "X".repeat(33) },
      { ...usdc, address: "0x12" },
      null,
    ];
    const list = { chains: [{ chainId: 1, name: "Ethereum", tokens }, { chainId: "1" }, null] };
    assert.deepEqual(readChains(list), chains);
    for (const wrong of [undefined, null, [], { chains: {} }])
      assert.deepEqual(readChains(wrong), []);
  });
});

describe("function strings", () => {
  test("are split at their outermost commas", () => {
    const parts = partsOf("f((address to, uint256 amount)[] payments, bytes data)");
    assert.deepEqual(parts.parameters, [
      { type: "(address to, uint256 amount)[]", name: "payments" },
      { type: "bytes", name: "data" },
    ]);
    assert.deepEqual(partsOf("ping()"), { name: "ping", parameters: [] });
    assert.equal(signatureOf(partsOf("a(address b, bool c)")), "a(address,bool)");
  });
});

describe("the payment", () => {
  test("as an ERC-681 link of the token's transfer", () => {
    const record = makeRecord(intentOf(approve("1")));
    assert.equal(
      paymentLink(record, "25000000"),
      `ethereum:${token}@1/transfer?address=${record.address}&uint256=25000000`,
    );
  });

  test("as calldata of transfer(address,uint256)", () => {
    assert.equal(
      transferCalldata(other, "255"),
      `0xa9059cbb${"0".repeat(24)}${"1".repeat(40)}${"0".repeat(62)}ff`,
    );
  });

  test("asks for what is missing and never for less than nothing", () => {
    assert.equal(owed("25", "10"), "15");
    assert.equal(owed("25", "25"), "0");
    assert.equal(owed("25", "40"), "0");
  });
});
