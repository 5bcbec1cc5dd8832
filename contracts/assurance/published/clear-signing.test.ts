// Tests that calldata-PaymentFactory.json (ERC-7730) is valid by its schema and consistent with the
// ABI. Also tests the text that a wallet shows before signing. The schema is version 2 from the
// ERC's registry (CC0).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import {
  type Abi,
  type AbiFunction,
  type AbiParameter,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  parseAbiParameters,
  toFunctionSelector,
  zeroAddress,
  zeroHash,
} from "viem";
import { factoryAddress, paymentFactoryAbi } from "../../index.ts";
import { type Descriptor, functionOf, read, type Wallet } from "./reader.ts";

const json = (name: string) => JSON.parse(readFileSync(`${import.meta.dirname}/${name}`, "utf8"));
const descriptor = json("calldata-PaymentFactory.json") as Descriptor;
const { formats } = descriptor.display;
const abi = paymentFactoryAbi as Abi;

const token = "0x1111111111111111111111111111111111111111";
const shop = "0x2222222222222222222222222222222222222222";
const customer = "0x3333333333333333333333333333333333333333";

const intent = {
  token,
  amount: 25_000_000n,
  calls: [
    {
      target: shop,
      signature: "pay(uint256)",
      names: "orderId",
      args: encodeAbiParameters(parseAbiParameters("uint256"), [42n]),
    },
  ],
  expirationTimestamp: 1_800_000_000n,
  recovery: customer,
  salt: zeroHash,
  chainId: 1n,
} as const;

const wallet: Wallet = {
  descriptor,
  names: { [token]: "Dollar", [shop]: "Shop" },
  tokens: { [token]: { ticker: "DUSD", decimals: 6 } },
  chains: { 1: "Ethereum" },
};

const call = (functionName: string, args: unknown[]): Hex =>
  encodeFunctionData({ abi, functionName, args });
const signs = (data: Hex) => read(wallet, factoryAddress, data);

const executing = [
  "Run the calls of a funded address",
  "  Once it holds: DUSD 25",
  "  Of token: Dollar",
  "  Calls, in order:",
  "    Contract: Shop",
  "    Function: pay(uint256)",
  "    Names of its arguments: orderId",
  `    Its arguments: ${intent.calls[0].args}`,
  `  What is left goes to: ${customer}`,
  "  Until: 2027-01-15T08:00:00.000Z",
  "  On chain: Ethereum",
  `  Salt: ${zeroHash}`,
];
const recovering = [
  "Send what an ended address holds to its recovery",
  `  Everything goes to: ${customer}`,
  "  Token, all of it (zero: coin): Dollar",
  `  Token, all of it (zero: coin): ${zeroAddress}`,
  "  Once it holds: DUSD 25",
  "  Of token: Dollar",
  "  Until: 2027-01-15T08:00:00.000Z",
  "  On chain: Ethereum",
  `  Salt: ${zeroHash}`,
];
const indented = (lines: string[]) => lines.map((line) => `    ${line}`);

describe("the ERC-7730 descriptor", () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    json("erc7730-v2.schema.json"),
  );

  test("the descriptor matches the JSON schema", () => {
    assert.ok(validate(descriptor), JSON.stringify(validate.errors));
    const wrong = JSON.stringify(descriptor).replaceAll('"addressName"', '"adressName"');
    assert.equal(validate(JSON.parse(wrong)), false);
  });

  test("the descriptor applies only to the factory's address", () => {
    const { deployments } = descriptor.context.contract;
    assert.ok(deployments.length > 0);
    for (const { address } of deployments) assert.equal(address, factoryAddress);
  });

  test("the descriptor describes every function that changes state", () => {
    const changing = abi.filter(
      (item): item is AbiFunction => item.type === "function" && item.stateMutability !== "view",
    );
    assert.deepEqual(
      Object.keys(formats)
        .map((key) => toFunctionSelector(functionOf(key)))
        .sort(),
      changing.map((item) => toFunctionSelector(item)).sort(),
    );
  });

  test("the descriptor shows or hides every parameter explicitly", () => {
    for (const [key, { fields }] of Object.entries(formats)) {
      const named = fields.flatMap(({ path, fields: inner }) =>
        inner ? inner.map((field) => `${path}.${field.path}`) : [path!],
      );
      assert.deepEqual(named.sort(), functionOf(key).inputs.flatMap(leaves).sort(), key);
    }
  });
});

/** Returns the path of each value that is not a tuple. */
function leaves(parameter: AbiParameter): string[] {
  const path = parameter.type.endsWith("[]") ? `${parameter.name}.[]` : parameter.name!;
  if (!("components" in parameter)) return [path];
  return parameter.components.flatMap(leaves).map((inner) => `${path}.${inner}`);
}

describe("the text that a wallet shows before signing", () => {
  test("the text for `execute` contains every part of the intent", () => {
    assert.deepEqual(signs(call("execute", [intent])), executing);
  });

  test("the text for `recover` contains the recovery address and the tokens", () => {
    assert.deepEqual(signs(call("recover", [intent, [token, zeroAddress]])), recovering);
  });

  test("the text for `batch` contains the text of each call in the batch", () => {
    const items = [call("execute", [intent]), call("recover", [intent, [token, zeroAddress]])];
    assert.deepEqual(signs(call("batch", [items])), [
      "Execute or recover several addresses, each by itself",
      "  Item:",
      ...indented(executing),
      "  Item:",
      ...indented(recovering),
    ]);
  });

  test("the text for `rescue` contains the call and the amount of native coin", () => {
    const lines = signs(call("rescue", [intent, shop, 10n ** 18n, "0x12345678"]));
    assert.deepEqual(lines.slice(0, 6), [
      "Make a call from an ended address, as its recovery",
      "  Contract called: Shop",
      "  Coin of the address sent along: 1 ETH",
      "  Call:",
      "    Shop: 0x12345678",
      `  Only signed by: ${customer}`,
    ]);
  });

  test("the text for a call to another contract contains only the calldata", () => {
    const data = call("execute", [intent]);
    assert.deepEqual(read(wallet, shop, data), [`Shop: ${data}`]);
  });
});
