// Valid and complete responses of the service. Tests use and change these responses.

import type { Check } from "../client/check.ts";
import type { AddressPage, EventPage, ServiceEvent } from "../client/lists.ts";
import type { Simulation } from "../client/simulation.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import type { SentMoney } from "../status/sent.ts";
import type { AddressState, ServiceStatus } from "../status/shape.ts";
import { buyer, sample, shop, usdc } from "./samples.ts";

const hash: Hex = `0x${"ab".repeat(32)}`;
const block = { number: 7, hash, timestamp: 1_780_000_000 };
const event = { transactionHash: hash, blockNumber: 6, blockHash: hash, logIndex: 0 };

export const credentials = {
  apiKey: `svc_sk_${"0a".repeat(32)}`,
  clientId: `svc_client_${"0b".repeat(16)}`,
};

export const statusOf = (address: Hex, state: AddressState): ServiceStatus => ({
  address,
  state,
  chainId: sample.chainId,
  block,
  token: usdc,
  balance: "0",
  amount: sample.amount,
  expirationTimestamp: sample.expirationTimestamp,
  recoverable: [{ token: usdc, amount: "1" }],
  execution: state === "executed" ? { ...event, held: "1000000", left: "0" } : null,
  recoveries: [{ ...event, token: usdc, amount: "5" }],
  executor: {
    purpose: "execute",
    phase: "sent",
    transactionHash: hash,
    attempts: 0,
    reason: null,
  },
  settledAt: 1_795_255_786,
  explorer: "https://explorer.example",
  strays: [],
  elsewhere: [{ chainId: 10, token: usdc, amount: "3", state: "returned", transactionHash: hash }],
  wrongTokens: [
    {
      ...{ token: usdc, amount: "7", symbol: "USDC.e", name: "Bridged USDC", decimals: 6 },
      ...{ looksLike: "USDC", transactionHash: hash, payer: null },
    },
  ],
});

export const sentOf = (address: Hex): SentMoney => ({
  ...{ address, chainId: sample.chainId, block, recovery: sample.recovery },
  ...{ problem: null, omitted: 0 },
  tokens: [
    {
      ...{ token: usdc, amount: "7", symbol: "USDT", decimals: 6 },
      ...{ fate: "queued", notBefore: null },
    },
  ],
});

export const simulationOf = (address: Hex): Simulation => ({
  address,
  chainId: sample.chainId,
  block,
  state: "funded",
  outcome: "succeeds",
  reason: null,
  failedCall: null,
  fundingAssumed: false,
  gasUsed: 90_000,
  changes: [
    { account: buyer, roles: ["named"], token: usdc, symbol: "USDC", decimals: 6, change: "-5" },
  ],
  scope: "transfers",
  unmeasured: 0,
});

export const checkOf = (record: AddressRecord): Check => ({
  record,
  simulation: simulationOf(record.address),
  findings: [
    { path: ["calls", 0, "args", 1], code: "allowance_left", message: "too much", cure: "less" },
  ],
  notes: [{ path: ["token"], code: "token_may_change", message: "a proxy" }],
});

export const chainListOf = (factory: Hex) => ({
  factory,
  chains: [
    { chainId: 8453, name: "Base", tokens: [{ symbol: "USDC", address: shop, decimals: 6 }] },
  ],
});

export const addressPageOf = (address: Hex): AddressPage => ({
  items: [
    {
      address,
      recordUrl: `https://pay.example/v1/address/${address}`,
      reference: "order 7",
      claimedReference: null,
      createdBy: "api_key",
      createdAt: "2026-11-01T10:00:00.000Z",
      chainId: sample.chainId,
      token: usdc,
      amount: sample.amount,
      requestedAmount: sample.amount,
      expirationTimestamp: sample.expirationTimestamp,
      state: "executed",
      block,
      transactionHash: hash,
      settledAt: "2026-11-01T10:05:00.000Z",
    },
  ],
  next: "n1",
});

export function eventPageOf(address: Hex): EventPage {
  const { executor, explorer, settledAt, strays, wrongTokens, elsewhere, ...status } = statusOf(
    address,
    "executed",
  );
  const data = {
    address,
    reference: "order 7",
    claimedReference: null,
    createdBy: "api_key" as const,
    sequence: 1,
    recordUrl: `https://pay.example/v1/address/${address}`,
    chainId: status.chainId,
    transactionHash: hash,
    returned: [],
    payment: null,
    payments: [paymentOf()],
    paymentsOmitted: 0,
    status,
    recoveriesOmitted: 0,
  };
  const timestamp = "2026-11-01T10:05:00.000Z";
  return {
    items: [{ id: "e1", type: "address.executed", version: 1, timestamp, data }],
    next: "n1",
    hasMore: false,
  };
}

const paymentOf = () => ({
  ...{ transactionHash: hash, logIndex: 2, blockNumber: block.number, blockHash: block.hash },
  ...{ payer: sample.recovery as Hex, token: usdc as Hex, amount: sample.amount },
});

export function paymentEventOf(address: Hex): ServiceEvent {
  const [event] = eventPageOf(address).items;
  const payment = { ...paymentOf(), kind: "requested" as const, isLate: false, isLast: false };
  return { ...event!, type: "address.payment", data: { ...event!.data, payment, payments: [] } };
}
