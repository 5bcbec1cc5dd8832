import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CallError } from "./json-rpc.ts";
import { classifyError, type ErrorKind, statedLogRange } from "./node-errors.ts";

const send = "eth_sendRawTransaction";

/** Error messages from the source code of clients and from public bug reports. */
const samples: readonly [kind: ErrorKind, method: string, code: number, message: string][] = [
  ["rate_limited", "eth_call", 429, "Your app has exceeded its compute units per second capacity"],
  ["rate_limited", "eth_call", -32005, "daily request count exceeded, request rate limited"],
  ["rate_limited", "eth_call", -32007, "50/second request limit reached - reduce calls per second"],
  ["rate_limited", "eth_call", -32016, "over rate limit"],
  ["rate_limited", "eth_call", -32000, "You've exceeded the RPS limit available on the plan"],
  ["rate_limited", send, -32000, "Too Many Requests"],
  ["rate_limited", "eth_getLogs", -32000, "too many requests"],
  ["transient", "eth_call", -32000, "header not found"],
  ["transient", "eth_call", -32000, "block not found: 0x12"],
  ["transient", "eth_call", -32603, "Internal JSON-RPC error."],
  ["transient", "eth_call", -32603, ""],
  ["transient", "eth_call", -32000, "temporary failure, please try again"],
  ["transient", "eth_call", -32000, "502 Bad Gateway"],
  ["log_range", "eth_getLogs", -32005, "query returned more than 10000 results"],
  [
    "log_range",
    "eth_getLogs",
    -32602,
    "You can make eth_getLogs requests with up to a 10 block range",
  ],
  ["log_range", "eth_getLogs", -32000, "limit exceeded, too many requests for this range"],
  ["log_range", "eth_getLogs", -32005, "limit exceeded"],
  ["no_method", "debug_traceTransaction", -32601, "the method does not exist/is not available"],
  ["invalid_parameters", "eth_call", -32602, "missing value for required argument 0"],
  ["invalid_parameters", "eth_estimateGas", -32000, "too many arguments, want at most 2"],
  ["over_call_gas", "eth_estimateGas", -32000, "gas required exceeds allowance (5000000)"],
  ["over_call_gas", "eth_estimateGas", -32000, "intrinsic gas too low: gas 20000, minimum 21000"],
  ["no_funds", send, -32000, "insufficient funds for gas * price + value: balance 0"],
  ["no_funds", send, -32000, "Upfront cost exceeds account balance"],
  ["no_funds", send, -32010, "InsufficientFunds, Account balance: 0, cumulative cost: 1"],
  ["over_block_gas", send, -32000, "exceeds block gas limit"],
  ["over_block_gas", send, -32000, "Transaction gas limit exceeds block gas limit"],
  ["over_block_gas", send, -32000, "transaction gas limit too high (cap: 16777216, tx: 20000000)"],
  [
    "over_block_gas",
    send,
    -32010,
    "GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 40000000",
  ],
  ["over_block_gas", send, -32010, "Transaction cost exceeds current gas limit. Limit: 1, got: 2"],
  ["already_known", send, -32000, "already known"],
  ["already_known", send, -32000, "Known transaction"],
  ["already_known", send, -32010, "AlreadyKnown"],
  ["already_known", send, -32010, "Transaction with the same hash was already imported."],
  ["already_known", send, 1010, "Pool(AlreadyImported)"],
  ["nonce_used", send, -32000, "nonce too low: next nonce 5, tx nonce 4"],
  ["nonce_used", send, -32010, "OldNonce, Current nonce: 5, nonce of rejected tx: 4"],
  ["nonce_used", send, -32010, "Transaction nonce is too low. Try incrementing the nonce."],
  ["replacement_underpriced", send, -32000, "replacement transaction underpriced"],
  ["replacement_underpriced", send, -32000, "INTERNAL_ERROR: could not replace existing tx"],
  [
    "replacement_underpriced",
    send,
    -32010,
    "Transaction gas price 1 is too low. There is another transaction with same nonce in the queue",
  ],
  ["replacement_underpriced", send, -32010, "ReplacementNotAllowed"],
  ["fee_too_low", send, -32000, "transaction underpriced: gas tip cap 0, minimum needed 1"],
  ["fee_too_low", send, -32010, "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 2"],
  ["fee_too_low", send, -32010, "FeeTooLowToCompete"],
  ["fee_too_low", send, -32000, "Gas price below configured minimum gas price"],
  ["fee_too_low", send, -32000, "max fee per gas less than block base fee: address 0x0"],
  ["fee_too_low", send, -32000, "gasprice is less than gas price minimum floor"],
  ["other", "eth_call", -32000, "finalized block not found"],
  ["other", "eth_getBlockByNumber", -39001, "Unknown block"],
];

describe("classifyError", () => {
  for (const [kind, method, code, message] of samples) {
    test(`returns ${kind} if ${method} fails with ${code} ${message || "and no message"}`, () =>
      assert.equal(classifyError(method, { code, message }), kind));
  }
});

describe("the revert reason of a contract", () => {
  const word = (text: string) => Buffer.from(text).toString("hex").padEnd(64, "0");
  /** The error that each node software returns for a revert reason. */
  const quoting: readonly [client: string, quote: (reason: string) => CallError][] = [
    [
      "geth",
      (reason) => ({ code: 3, message: `execution reverted: ${reason}`, data: "0x08c379a0" }),
    ],
    ["geth without data", (reason) => ({ code: -32000, message: `execution reverted: ${reason}` })],
    ["Besu", (reason) => ({ code: -32000, message: `Execution reverted (${reason})`, data: "0x" })],
    [
      "Nethermind",
      (reason) => ({ code: -32015, message: reason, data: `Reverted 0x${word(reason)}` }),
    ],
    ["OpenEthereum", (reason) => ({ code: -32015, message: "VM execution error.", data: reason })],
    [
      "hardhat",
      (reason) => ({
        code: -32603,
        message: `VM Exception: reverted with reason string '${reason}'`,
        data: { message: reason, data: `0x${word(reason)}` },
      }),
    ],
    [
      "a gateway that returns only the reason",
      (reason) => ({ code: -32000, message: reason, data: "0x12345678" }),
    ],
  ];
  for (const [client, quote] of quoting) {
    test(`does not affect how an error from ${client} is classified`, () => {
      for (const [, method, , message] of samples) {
        for (const asked of [method, "eth_call", "eth_estimateGas", send]) {
          const kind = classifyError(asked, quote(message));
          assert.equal(kind, "reverted", `${asked}: ${message}`);
        }
      }
    });
  }
});

const stated = (message: string, blocks = 100_000) =>
  statedLogRange({ code: -32000, message }, blocks);

describe("statedLogRange returns undefined", () => {
  for (const [what, message] of [
    ["for a limit on results", "query returned more than 10000 results"],
    ["for a limit on logs", "logs matched by query exceeds limit of 10000"],
    ["for a limit on results that looks like a range", "maximum is 10000 results"],
    ["without a number", "block range is too wide"],
    ["for zero blocks", "eth_getLogs is limited to a 0 range"],
    ["for more than the refused number of blocks", "exceed maximum block range: 500000"],
    ["for the refused number of blocks", "exceed maximum block range: 100000"],
    ["for a number of twenty digits", "exceed maximum block range: 10000000000000000000"],
    ["for a range whose last block comes first", "Try with this block range [0x20, 0x10]."],
    ["for an empty message", ""],
  ] as const) {
    test(what, () => assert.equal(stated(message), undefined));
  }

  test("for a limit that is stated after 500 characters of other text", () =>
    assert.equal(stated(`${"x".repeat(500)} exceed maximum block range: 10`), undefined));
});

describe("statedLogRange", () => {
  const alchemy = "you can make eth_getLogs requests with up to a 10 block range. Based on your";
  for (const [message, blocks] of [
    [`Under the Free tier plan, ${alchemy} parameters, this block range should work:`, 10],
    ["Based on your parameters, this block range should work: [0x1be4213, 0x1be4406]", 500],
    ["query returned more than 10000 results. Try with this block range [0xCB3D, 0xCB46].", 10],
    ["You can make eth_getLogs requests with up to a 2K block range and no limit on the", 2000],
    ["eth_getLogs is limited to a 10,000 range", 10_000],
    ["eth_getLogs is limited to 0 - 10000 blocks range", 10_000],
    ["eth_getLogs is limited to a 5 range", 5],
    ["ranges over 10000 blocks are not supported on freetier", 10_000],
    ["exceed maximum block range: 5000", 5000],
    ["query exceeds max block range 1000", 1000],
    ["range 1000000 exceeds limit of 10000", 10_000],
    ["requested too many blocks from 0 to 16777216, maximum is set to 2048", 2048],
    ["block range is too wide (maximum 1024)", 1024],
    ["too wide blocks range, the limit is 100", 100],
  ] as const) {
    test(`returns ${blocks} blocks for the message "${message}"`, () =>
      assert.equal(stated(message), blocks));
  }

  test("returns the length of a suggested range even if the message also states a limit", () =>
    assert.equal(
      stated("with up to a 2K block range, this block range should work: [0x0, 0x9]"),
      10,
    ));
});
