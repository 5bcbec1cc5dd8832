import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Call,
  collectionOf,
  collectorAddress,
  type Hex,
  type Intent,
  makeRecord,
  payWithTolerance,
  requireBalance,
  requireClosed,
  requireExecuted,
  requireGas,
  requirementOf,
  tipAddress,
  tipOf,
} from "executable-address";
import { type Chain, findHazards, isSame, readChains } from "executable-address-element/page";
import { sayWith } from "../ui/words/languages.ts";
import { readFacts } from "./facts.ts";
import { splitFunction, writeSignature } from "./function.ts";
import {
  findToken,
  sayAmount,
  sayCall,
  sayCollection,
  sayIntent,
  sayParty,
  sayRequirement,
  sayTip,
  sumTransfers,
} from "./reading.ts";
import { fieldsOf, itemsOf } from "./value.ts";
import { en } from "./words/languages.ts";

const say = sayWith(en);

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
const titles = (intent: Intent, listed = chains) =>
  findHazards(intent, findToken(intent, listed, intent.token) !== undefined).map(
    ({ tone, title, call }) => `${tone}: ${say(title, { n: call ?? 0 })}`,
  );

describe("warnings about an intent", () => {
  test("a payer is warned of an unlimited approval", () =>
    assert.deepEqual(titles(intentOf(approve(unlimited))), [
      "bad: Step 1 allows unlimited spending",
    ]));

  test("a payer is warned of an unlimited approval regardless of its parameter names", () =>
    assert.deepEqual(
      titles(intentOf(call("approve(address receipt, uint256 orderNumber)", other, unlimited))),
      ["bad: Step 1 allows unlimited spending"],
    ));

  test("a payer is warned of an unlimited approval through Permit2", () => {
    const text = "approve(address token, address spender, uint160 amount, uint48 expiration)";
    const call: Call = {
      target: other,
      function: text,
      args: [token, other, (2n ** 160n - 1n).toString(), "1"],
    };
    assert.deepEqual(titles(intentOf(call)), ["bad: Step 1 allows unlimited spending"]);
  });

  test("a payer is warned of an approval through Permit2 that exceeds the payment", () => {
    const text = "approve(address token, address spender, uint160 amount, uint48 expiration)";
    const given = (amount: string): Call => ({
      target: other,
      function: text,
      args: [token, other, amount, "1"],
    });
    assert.deepEqual(titles(intentOf(given("25000001"))), [
      "warn: Step 1 lets someone spend more than the payment",
    ]);
    assert.deepEqual(titles(intentOf(given("25000000"))), []);
  });

  test("a payer is warned of a function that imitates a well-known function", () =>
    assert.deepEqual(
      titles(
        intentOf(call("sign_szabo_bytecode(bytes16 a, uint128 b)", `0x${"11".repeat(16)}`, "1")),
      ),
      ["bad: Step 1 may run a different function than shown"],
    ));

  test("a payer is warned of a reserved parameter name", () =>
    assert.deepEqual(titles(intentOf(call("f(bool memory)", "true"))), [
      "warn: Step 1 has a misleading name",
    ]));

  test("a payer is warned of an approval that exceeds the payment", () =>
    assert.deepEqual(titles(intentOf(approve("25000001"))), [
      "warn: Step 1 lets someone spend more than the payment",
    ]));

  test("a payer is warned of an approval for all tokens of a collection", () =>
    assert.deepEqual(
      titles(intentOf(call("setApprovalForAll(address operator, bool approved)", other, "true"))),
      ["bad: Step 1 gives access to an entire NFT collection"],
    ));

  test("a payer is warned of hidden characters", () =>
    assert.deepEqual(titles(intentOf(call("note(string text)", "pay \u202eecila"))), [
      "warn: Step 1 contains hidden characters",
    ]));

  test("a payer is warned of a token or a chain that is not listed", () => {
    const unlisted: Hex = "0x2222222222222222222222222222222222222222";
    const inAnother = { ...intentOf(approve("1")), token: unlisted };
    assert.deepEqual(titles(inAnother), ["warn: Unknown token"]);
    assert.deepEqual(titles({ ...intentOf(approve("1")), chainId: 2 }), ["warn: Unknown token"]);
    assert.deepEqual(titles(intentOf(approve("1")), []), ["warn: Unknown token"]);
  });

  test("a payer gets no warning for an ordinary intent", () =>
    assert.deepEqual(titles(intentOf(approve("25000000"))), []));
});

describe("the description of a call", () => {
  test("a transfer or approval of a listed token is described", () => {
    const transfer = call("transfer(address to, uint256 amount)", other, "1500000");
    assert.deepEqual(sayCall(transfer, usdc, say), {
      as: "callSends",
      values: { amount: "1.5 USDC", to: { address: other } },
    });
    assert.deepEqual(sayCall(approve(unlimited), usdc, say), {
      as: "callApprovesAny",
      values: { spender: { address: other } },
    });
  });

  test("a tip is described with its amount", () => {
    const args = [token, "250000"];
    const tip = { target: tipAddress, function: "tip(address token, uint256 amount)", args };
    assert.deepEqual(sayTip(tipOf(tip)!, usdc, say), {
      as: "callTips",
      values: { amount: "0.25 USDC" },
    });
    assert.equal(
      say("callTips", { amount: "0.25 USDC" }),
      "Pays 0.25 USDC to the account that starts these steps",
    );
    const record = makeRecord(intentOf(approve("1"), tip));
    assert.equal(sayParty(tipAddress.toLowerCase(), record, {}, say), "the tip contract");
  });

  test("a payment with a tolerance is described with its limits", () => {
    const recipient: Hex = "0x1111111111111111111111111111111111111111";
    const paid = { token, recipient, least: 24_750_000n, most: 25_000_000n };
    const parts = payWithTolerance(paid);
    assert.deepEqual(sayCollection(collectionOf(parts.calls[1]!)!, usdc, say), {
      as: "callCollects",
      values: { least: "24.75 USDC", most: "25 USDC", to: { address: recipient } },
    });
    const intent = { ...intentOf(...parts.calls), amount: parts.amount };
    assert.deepEqual(titles(intent), [], "the approval above the amount is harmless");
    assert.equal(sayIntent(intent, chains, say).as, "sumCollect");
    const record = makeRecord(intent);
    assert.match(sayParty(collectorAddress, record, {}, say)!, /tolerance/);
  });

  test("a call that checks a condition is described in words", () => {
    const none: Hex = "0x0000000000000000000000000000000000000000";
    const unlisted: Hex = "0x2222222222222222222222222222222222222222";
    const tokenOf = (address: Hex) => (isSame(address, token) ? usdc : undefined);
    const said = (required: Call) => {
      const { as, values } = sayRequirement(requirementOf(required)!, tokenOf, say);
      const texts = Object.entries(values).map(([name, value]) => [
        name,
        typeof value === "string" ? value : value.address,
      ]);
      return say(as, Object.fromEntries(texts));
    };
    const awaited = { ...makeRecord(intentOf(approve("1"))), address: other };
    assert.equal(
      said(requireExecuted(awaited, 1)),
      `Continues only if the payment to ${other} completed`,
    );
    assert.equal(
      said(requireClosed(awaited, 1)),
      `Continues only if ${other} was closed without completing`,
    );
    assert.equal(
      said(requireGas(1000000n)),
      "Continues only if at least 1\u202f000\u202f000 gas is left",
    );
    const holds = `Continues only if ${other} then has at least`;
    assert.equal(said(requireBalance(token, other, 1500000n)), `${holds} 1.5 USDC`);
    assert.equal(said(requireBalance(unlisted, other, 5n)), `${holds} 5 base units of ${unlisted}`);
    assert.equal(said(requireBalance(none, other, 5n)), `${holds} 5 base units of the native coin`);
    const record = makeRecord(intentOf(approve("1"), requireExecuted(awaited, 1)));
    const { target } = requireExecuted(awaited, 1);
    assert.equal(sayParty(target.toLowerCase(), record, {}, say), "the conditions contract");
  });

  test("a call to an unknown contract is not described", () => {
    assert.equal(sayCall(approve("1"), undefined, say), undefined);
    const odd = call("transfer(address to, uint128 amount)", other, "1");
    assert.equal(sayCall(odd, usdc, say), undefined);
  });

  test("an amount of an unknown token is shown in base units", () => {
    assert.equal(sayAmount("1500000", undefined, say), "1\u202f500\u202f000 base units");
    assert.equal(sayAmount("1", usdc, say), "0.000001 USDC");
  });

  test("an account is named only if the record or the operator names it", () => {
    const record = makeRecord(intentOf(approve("1")));
    const shop = "0x2222222222222222222222222222222222222222";
    const party = (address: string, labels = {}) => sayParty(address, record, labels, say);
    assert.equal(party(record.address.toLowerCase()), "this address");
    assert.equal(party(other), undefined, "who gets the money back is somebody");
    assert.equal(party(shop), undefined);
    assert.equal(party(shop, { [shop]: "Shop" }), "Shop");
    assert.equal(party(other, { [other]: "Bank" }), "Bank");
  });
});

describe("the summary of an intent", () => {
  const sum = (...calls: Call[]) => sayIntent(intentOf(...calls), chains, say);
  const shop = "0x2222222222222222222222222222222222222222";
  const pay = { target: other, function: "pay(uint256 order)", args: ["1"] };

  test("one transfer is summarized by its amount and recipient", () =>
    assert.deepEqual(sum(call("transfer(address to, uint256 amount)", shop, "25000000")), {
      as: "sumTransfer",
      values: { amount: "25 USDC", party: { address: shop } },
    }));

  test("several transfers are summarized by their total", () => {
    const send = (to: string) => call("transfer(address to, uint256 amount)", to, "12500000");
    assert.deepEqual(sum(send(shop), send(other)), {
      as: "sumTransfers",
      values: { amount: "25 USDC", n: "2" },
    });
    assert.deepEqual(sum(send(shop), send(shop)), {
      as: "sumTransfer",
      values: { amount: "25 USDC", party: { address: shop } },
    });
    assert.equal(sum(send(shop), pay).as, "sumCalls");
  });

  test("the total is known only if all calls transfer the listed token", () => {
    const send = call("transfer(address to, uint256 amount)", shop, "12500000");
    assert.equal(sumTransfers(intentOf(send, send), chains), 25_000_000n);
    assert.equal(sumTransfers(intentOf(send, pay), chains), undefined);
    assert.equal(sumTransfers(intentOf(send), []), undefined);
  });

  test("an approval and the next call are summarized by amount and spender", () =>
    assert.deepEqual(sum(approve("25000000"), pay), {
      as: "sumCall",
      values: { amount: "25 USDC", party: { address: other } },
    }));

  test("an intent of an unknown kind is summarized by its numbers of calls and contracts", () => {
    assert.deepEqual(sum(approve("1"), { ...pay, target: shop }), {
      as: "sumCalls",
      values: { calls: "2", contracts: "2" },
    });
    assert.deepEqual(sum(...Array(32).fill(pay)), {
      as: "sumCallsOne",
      values: { calls: "32", party: { address: other } },
    });
    assert.deepEqual(sum(pay), { as: "sumOneCall", values: { party: { address: other } } });
  });
});

describe("arrays and tuples", () => {
  test("itemsOf splits an array, and fieldsOf splits a tuple", () => {
    const items = itemsOf("(address to, uint256[] ids)[]", '[["0x1",["1","2"]]]');
    assert.deepEqual(items, { type: "(address to, uint256[] ids)", values: ['["0x1",["1","2"]]'] });
    assert.deepEqual(fieldsOf(items!.type, items!.values[0]!), [
      { type: "address", name: "to", value: "0x1" },
      { type: "uint256[]", name: "ids", value: '["1","2"]' },
    ]);
    assert.equal(itemsOf("string", '["no array"]'), undefined);
    assert.equal(fieldsOf("(bool a)", "no list"), undefined);
  });
});

describe("the operator's data about an address", () => {
  test("readFacts omits unsafe values", () => {
    const shop = "0x2222222222222222222222222222222222222222";
    const facts = { requester: "A Shop", labels: { [shop]: "Shop" } };
    assert.deepEqual(readFacts(JSON.stringify(facts)), {
      ...facts,
      walletChain: undefined,
    });
    const wrong = {
      requester: "Am\u202eazon",
      labels: { "0x12": "No", [shop]: "" },
      walletChain: 7,
    };
    const nothing = {
      requester: undefined,
      labels: {},
      walletChain: undefined,
    };
    assert.deepEqual(readFacts(JSON.stringify(wrong)), nothing);
    for (const text of [null, "", "null", "[1", '"text"'])
      assert.deepEqual(readFacts(text), nothing);
    const rpc = (rpcUrl: string) =>
      readFacts(JSON.stringify({ walletChain: { rpcUrl, coin: "ETH" } }));
    assert.equal(rpc("javascript:alert(1)").walletChain, undefined);
    assert.deepEqual(rpc("https://rpc.example").walletChain, {
      rpcUrl: "https://rpc.example",
      coin: "ETH",
    });
  });
});

describe("the server's list of chains", () => {
  test("readChains omits incomplete chains and unsafe tokens", () => {
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
  test("splitFunction splits the parameters at the outermost commas", () => {
    const parts = splitFunction("f((address to, uint256 amount)[] payments, bytes data)");
    assert.deepEqual(parts.parameters, [
      { type: "(address to, uint256 amount)[]", name: "payments" },
      { type: "bytes", name: "data" },
    ]);
    assert.deepEqual(splitFunction("ping()"), { name: "ping", parameters: [] });
    assert.equal(writeSignature(splitFunction("a(address b, bool c)")), "a(address,bool)");
  });
});
