// An example request and response for each operation. document.test.ts sends the requests to the
// service. All examples are about one address with a valid record.

import { readFileSync } from "node:fs";
import { factoryAddress, makeRecord } from "executable-address";
import type { Shape, TypeOf } from "executable-address/shapes";
import { deriveReturns } from "executable-address/status";
import { type EventType, eventTypes } from "executable-address/webhook";
import type { Operation, OperationId, operations } from "./operations.ts";

type Example<O extends Operation> = {
  path?: Readonly<Record<"address" | "id", string>> | Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  body?: object;
  /** The response. Absent for the operation that returns the document itself. */
  answer?: O["answer"] extends Shape ? TypeOf<O["answer"]> : string;
};

const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const usdt = "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2";
const merchant = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const customer = "0x976EA74026E726554dB657fA54763abd0C3a0aa9";

const newIntent = {
  token: usdc,
  amount: "25000000",
  calls: [
    {
      target: usdc,
      function: "transfer(address to, uint256 amount)",
      args: [merchant, "25000000"],
    },
  ],
  expirationTimestamp: 1_893_456_000,
  recovery: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  chainId: 8453,
} as const;
const salt = `0x${"5eed".repeat(8)}${"00".repeat(16)}` as const;
const record = makeRecord({ ...newIntent, salt }, { factory: factoryAddress });
const { address } = record;

const block = {
  number: 30_000_010,
  hash: `0x${"1b".repeat(32)}`,
  timestamp: 1_893_400_020,
} as const;
const payment = {
  transactionHash: `0x${"a1".repeat(32)}`,
  logIndex: 12,
  blockNumber: 30_000_002,
  blockHash: `0x${"2c".repeat(32)}`,
  payer: customer,
  token: usdc,
  amount: "25000000",
} as const;
const execution = {
  transactionHash: `0x${"e2".repeat(32)}`,
  blockNumber: 30_000_005,
  blockHash: `0x${"3d".repeat(32)}`,
  logIndex: 31,
  held: "25000000",
  left: "0",
} as const;
const status = {
  address,
  state: "executed" as const,
  chainId: newIntent.chainId,
  block,
  token: usdc as typeof payment.token,
  balance: "0",
  amount: newIntent.amount,
  expirationTimestamp: newIntent.expirationTimestamp,
  recoverable: [],
  execution,
  recoveries: [],
};
const serviceStatus = {
  ...status,
  executor: null,
  settledAt: 1_893_400_010,
  explorer: "https://basescan.org",
  strays: [],
  wrongTokens: [],
  elsewhere: [],
};
const simulation = {
  address,
  chainId: newIntent.chainId,
  block,
  state: "unfunded" as const,
  outcome: "succeeds" as const,
  reason: null,
  failedCall: null,
  fundingAssumed: true,
  gasUsed: 93_512,
  changes: [
    balanceChange(address, ["vault"], "-25000000"),
    balanceChange(merchant, ["named"], "25000000"),
  ],
  scope: "transfers" as const,
  unmeasured: 0,
};

function balanceChange(account: typeof address, roles: ("vault" | "named")[], change: `${number}`) {
  return { account, roles, token: usdc as typeof address, symbol: "USDC", decimals: 6, change };
}

const reference = "order-42";
const recordUrl = `https://pay.example/v1/address/${address}`;
const row = {
  address,
  recordUrl,
  reference,
  claimedReference: null,
  createdBy: "api_key" as const,
  createdAt: "2029-12-31T08:20:00.000Z",
  chainId: newIntent.chainId,
  token: status.token,
  amount: newIntent.amount,
  requestedAmount: newIntent.amount,
  expirationTimestamp: newIntent.expirationTimestamp,
  state: "executed" as const,
  block,
  transactionHash: execution.transactionHash,
  settledAt: "2029-12-31T08:26:50.000Z",
};

const eventId = `evt_${"0123456789abcdef".repeat(2)}`;
const event = {
  id: eventId,
  type: "address.executed" as const,
  version: 1,
  timestamp: "2029-12-31T08:27:00.000Z",
  data: {
    address,
    reference,
    claimedReference: null,
    createdBy: "api_key" as const,
    sequence: 3,
    recordUrl,
    chainId: newIntent.chainId,
    transactionHash: execution.transactionHash,
    returned: [],
    payment: null,
    payments: [payment],
    paymentsOmitted: 0,
    status,
    recoveriesOmitted: 0,
  },
};

/** Returns an example body for an event of the type `type`, for the document's webhooks. */
export function exampleEvent(type: EventType) {
  if (type !== "address.payment") return { ...event, type };
  const news = { ...payment, kind: "requested" as const, isLate: false, isLast: false };
  const { transactionHash } = payment;
  return { ...event, type, data: { ...event.data, transactionHash, payment: news, payments: [] } };
}
export const exampleTest = {
  id: eventId,
  type: "webhook.test",
  version: 1,
  timestamp: "2029-12-31T08:27:00.000Z",
  data: {},
};

const id = `whe_${"0123456789abcdef01234567"}`;
const deliveryId = `whd_${"0123456789abcdef01234567"}`;
const url = "https://shop.example/webhooks";
const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const endpoint = {
  id,
  url,
  types: ["address.executed" as const],
  state: "active" as const,
  reason: null,
  failingSince: null,
  oldSecretUntil: null,
  createdAt: "2029-12-01T09:00:00.000Z",
};
const span = { from: "2029-12-01T00:00:00Z", until: "2029-12-02T00:00:00Z" };

const [, { proof: openProof }] = JSON.parse(
  readFileSync(new URL("../../../spec/proof-vectors.json", import.meta.url), "utf8"),
);

export const examples: { [Id in OperationId]: Example<(typeof operations)[Id]> } = {
  createAddress: { query: { reference }, body: newIntent, answer: record },
  checkAddress: { body: newIntent, answer: { record, simulation, findings: [], notes: [] } },
  lookUpAddress: { path: { address }, answer: record },
  getStatus: { path: { address }, answer: serviceStatus },
  getReturns: {
    path: { address },
    answer: deriveReturns(record, {
      ...{ confirmations: 12, paymentConfirmations: 0, amountMin: "10000" },
    }),
  },
  getProof: {
    path: { address },
    query: { block: "latest" },
    answer: { ...openProof, payments: [], paymentsOmitted: 0 },
  },
  getSimulation: { path: { address }, answer: simulation },
  reportSent: {
    path: { address },
    body: { token: usdt },
    answer: {
      ...{ address, chainId: newIntent.chainId, block, recovery: newIntent.recovery },
      problem: null,
      tokens: [
        {
          token: usdt,
          amount: "25000000",
          symbol: "USDT",
          decimals: 6,
          fate: "queued",
          notBefore: null,
        },
      ],
      omitted: 0,
    },
  },
  streamStatus: {
    path: { address },
    answer: [
      ...["retry: 2000", "", `id: ${block.number}`, "event: status"],
      ...[`data: ${JSON.stringify(serviceStatus)}`, "", ""],
    ].join("\n"),
  },
  findOwnAddress: { path: { address }, answer: row },
  listAddresses: {
    query: { state: "executed", limit: 1, createdFrom: "2029-12-31T00:00:00Z" },
    answer: { items: [row], next: null },
  },
  listEvents: {
    query: { types: "address.executed,address.recovered", limit: 1 },
    answer: { items: [event], next: "17", hasMore: false },
  },
  findEvent: { path: { id: eventId }, answer: event },
  listEndpoints: {
    answer: {
      endpoints: [endpoint],
      max: 10,
      types: [...eventTypes],
      publicKeys: [{ publicKey: "whpk_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", until: null }],
      chains: [{ chainId: newIntent.chainId, name: "Base", byDefault: 12, chosen: null }],
    },
  },
  createEndpoint: {
    body: { url, types: ["address.executed"] },
    answer: { ...endpoint, secret },
  },
  findEndpoint: { path: { id }, answer: endpoint },
  removeEndpoint: { path: { id }, answer: { id } },
  rotateSecret: { path: { id }, answer: { secret } },
  pauseEndpoint: { path: { id }, answer: { ...endpoint, state: "paused" } },
  resumeEndpoint: { path: { id }, answer: endpoint },
  testEndpoint: { path: { id }, answer: { deliveryId } },
  replayEvents: { path: { id }, body: span, answer: { replayed: 12, next: null } },
  listDeliveries: {
    path: { id },
    answer: {
      items: [
        {
          id: deliveryId,
          eventId,
          type: "address.executed",
          otherChainId: null,
          state: "delivered",
          createdAt: "2029-12-31T08:27:00.000Z",
          dueAt: null,
          attempts: [{ at: "2029-12-31T08:27:01.000Z", status: 200, latencyMs: 84, answer: "ok" }],
        },
      ],
    },
  },
  listChains: {
    answer: {
      factory: factoryAddress,
      chains: [
        {
          chainId: newIntent.chainId,
          name: "Base",
          tokens: [{ symbol: "USDC", address: usdc, decimals: 6 }],
        },
      ],
    },
  },
  describe: {},
};
