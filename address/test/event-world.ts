// A real chain with addresses in every state, and the events that a service would send.

import { after } from "node:test";
import { startWorld } from "../../service/testing/chain/world.ts";
import { zeroAddress } from "../abi/token.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { httpRpc, readStatus } from "../status/status.ts";
import type { PaymentNews, ServiceEvent } from "../webhook/webhook.ts";

type Type = ServiceEvent["type"];

const nothing: PaymentNews = {
  ...{ transactionHash: `0x${"5".repeat(64)}`, logIndex: 0, blockNumber: 3 },
  ...{ blockHash: `0x${"6".repeat(64)}`, payer: zeroAddress, token: zeroAddress, amount: "9" },
  ...{ kind: "requested", isLate: false, isLast: false },
};

/**
 * Returns an event about `record` that a service could send. `data` replaces fields of the event's
 * data.
 */
export const writeEvent = (
  record: AddressRecord,
  type: Type,
  status: ServiceEvent["data"]["status"],
  data: Partial<ServiceEvent["data"]>,
): ServiceEvent => ({
  id: `evt_${type}`,
  type,
  version: 1,
  timestamp: new Date().toISOString(),
  data: {
    address: record.address,
    ...{ reference: "order-1", claimedReference: null, createdBy: "api_key", sequence: 1 },
    recordUrl: `https://pay.example/v1/address/${record.address}`,
    ...{ chainId: record.intent.chainId, transactionHash: null, payment: null, returned: [] },
    ...{ payments: [], paymentsOmitted: 0, recoveriesOmitted: 0 },
    status,
    ...data,
  },
});

/** Starts the chain, and stops it after the tests of the file. */
export async function openEventWorld() {
  const world = await startWorld();
  after(world.stop);
  const node = httpRpc(world.rpcUrl);
  const records: Record<string, AddressRecord> = {};

  /** The newest payment to each address. */
  const paid: Record<Hex, PaymentNews> = {};
  const pay = async ({ address }: AddressRecord, amount: bigint, token = world.token) => {
    const { transactionHash, blockHash, blockNumber, logs } = await world.pay(
      address,
      amount,
      token,
    );
    paid[address] = {
      ...{ transactionHash, blockHash, blockNumber: Number(blockNumber), token },
      ...{ logIndex: logs[0]!.logIndex!, payer: zeroAddress, amount: `${amount}` },
      ...{ kind: "requested", isLate: false, isLast: false },
    };
  };
  const eventOf = async (record: AddressRecord, type: Type): Promise<ServiceEvent> => {
    const status = await readStatus(record, { rpc: node });
    const payment = type === "address.payment" ? { ...(paid[record.address] ?? nothing) } : null;
    const place = type === "address.recovered" ? status.recoveries.at(-1) : status.execution;
    const transactionHash = (payment ?? place)?.transactionHash ?? null;
    return writeEvent(record, type, status, { transactionHash, payment });
  };

  for (const name of ["unpaid", "funded", "executed", "returned", "surplus"])
    records[name] = await world.newRecord();
  const { timestamp } = await world.client.getBlock();
  const soon = { expirationTimestamp: Number(timestamp) + 60 };
  for (const name of ["late", "closed"]) records[name] = await world.newRecord(soon);
  for (const name of ["funded", "executed", "returned", "surplus", "closed"])
    await pay(records[name]!, 130n);
  const past: Record<string, ServiceEvent> = {
    funded: await eventOf(records.executed!, "address.funded"),
  };
  for (const name of ["executed", "returned", "surplus"]) await world.execute(records[name]!);
  await world.recover(records.returned!, [world.token]);
  await world.recover(records.executed!, [world.token]);
  await world.mineAt(soon.expirationTimestamp + 1);
  await world.recover(records.closed!, [world.token]);
  await world.mine(4);
  return { world, node, records, past, paid, pay, eventOf };
}
