// Makes each mistake that a payer can make. Checks that the money is returned as the API promises
// (`GET /address/{address}/returns`). The checks compare the amount, address, chain, earliest time,
// and triggering account.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AddressRecord, type Hex, makeRecord, zeroAddress } from "executable-address";
import type { MoneyReturn, PaymentReturns } from "executable-address/status";
import { demoToken, factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { pino } from "pino";
import { getAddress, keccak256, stringToHex } from "viem";
import {
  fiatTokenData,
  initializeFiatToken,
  placeFiatToken,
} from "../../../contracts/testing/fiat-token/place.ts";
import { demoTokens, localChainId } from "../../../scripts/local-chain.ts";
import { onlyLong } from "../../../scripts/long.ts";
import { parseChains } from "../../chain/chains.ts";
import { chainsOf, startApp } from "../../testing/app.ts";
import { deployOdd } from "../../testing/chain/odd-contracts.ts";
import { recoverData, rescueData, startWorld, transferData } from "../../testing/chain/world.ts";
import { saveRecords, unit, until } from "../../testing/executor/anvil-world.ts";
import { prepare, startCore, twoKeys } from "../../testing/executor/executor.ts";
import { openExecutorClient } from "../client.ts";

const { world, store } = await prepare();
const { client, token, otherToken } = world;
const other = await startWorld(31_338);
await client.setAutomine(true);
/** A token with the code of Circle's USDC, whose owner can pause it and block addresses. */
const fiat = getAddress(`0x${keccak256(stringToHex("USDC")).slice(-40)}`);
await placeFiatToken(client, fiat);
await initializeFiatToken(client, fiat);
const unlisted = await deployOdd(world, "PlainToken");
await client.setAutomine(false);
world.startTicking(100);

const confirmations = 3;
const listed = (address: Hex, symbol: string) => ({ address, symbol, decimals: 6 });
const chains = [
  ...world.chains([world.rpcUrl], {
    confirmations,
    tokens: [...demoTokens, listed(fiat, "FIAT")],
  }),
  ...parseChains(
    [
      {
        ...{ chainId: 31_338, name: "Other", rpcUrls: [other.rpcUrl] },
        ...{ confirmations: 0, finality: "blocks", tokens: [listed(other.token, "DMO")] },
      },
    ],
    "test",
  ),
];
const api = await startApp({
  store,
  executorClient: openExecutorClient(store, pino({ level: "silent" }), 10),
  chains: chainsOf(chains),
});
const running = startCore(store, chains);
after(async () => {
  await running.stop();
  await api.app.close();
  await other.stop();
});

const executor = twoKeys[0]!.address;
const stranger: Hex = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
/** The owner of the USDC token, who also mints each payment. */
const owner = client.account.address;
const get = async (path: string) => (await api.app.inject(`/v1/address/${path}`)).json();
const addressOf = (name: string): Hex => getAddress(`0x${keccak256(stringToHex(name)).slice(-40)}`);

/** A saved record, its `GET …/returns` response, and the recipient that its call pays. */
type Order = { record: AddressRecord; promised: PaymentReturns; recipient: Hex };
let made = 0;

/** Creates an address for 25 units with new recipient and recovery addresses. */
async function order(change: { secondsLeft?: number; token?: Hex; recipient?: Hex } = {}) {
  const { secondsLeft = 86_400, token: its = token } = change;
  const name = `order ${made++}`;
  const { recipient = addressOf(`${name}: recipient`) } = change;
  const { timestamp } = await client.getBlock();
  const amount = `${25n * unit}`;
  const call = { target: its, function: "transfer(address to, uint256 amount)" };
  const record = makeRecord({
    ...{ token: its, amount, calls: [{ ...call, args: [recipient, amount] }] },
    expirationTimestamp: Number(timestamp) + secondsLeft,
    recovery: addressOf(`${name}: recovery`),
    ...{ salt: keccak256(stringToHex(name)), chainId: localChainId },
  });
  await saveRecords(store, [record]);
  return { record, promised: await get(`${record.address}/returns`), recipient } satisfies Order;
}

const pay = ({ record }: Order, amount: bigint, its: Hex = record.intent.token) =>
  world.pay([{ to: record.address, amount, token: its }]);
const stateOf = async ({ record }: Order) => (await get(`${record.address}/status`)).state;
const isExecuted = async (one: Order) => (await stateOf(one)) === "executed";
const hasFailed = async ({ record }: Order) =>
  running.events.some(
    (event) => event.kind === "attempt_failed" && event.address === record.address.toLowerCase(),
  );
const pass = (seconds: number) => client.increaseTime({ seconds });
/** This time is longer than the executor's longest backoff. */
const backoffSeconds = 7 * 3600;

/**
 * Sends a transaction and waits until it is mined.
 *
 * @returns the hash of the transaction
 */
async function send(from: Hex, to: Hex, data: Hex): Promise<Hex> {
  await client.setBalance({ address: from, value: 10n ** 18n });
  await client.impersonateAccount({ address: from });
  const hash = await client.sendTransaction({ account: from, to, data, gas: 1_000_000n });
  const { status } = await client.waitForTransactionReceipt({ hash });
  assert.equal(status, "success");
  return hash;
}

const changeFiat = (data: Hex) => send(owner, fiat, data);

/**
 * Pays 25 units and calls USDC's contract with `data` in the same block. After that call, USDC
 * would refuse the payment.
 */
async function payThenChange(one: Order, data: Hex): Promise<void> {
  const nonce = await client.getTransactionCount({ address: owner, blockTag: "pending" });
  // This transaction waits for the payment, which has the lower nonce. Both are then mined
  // together.
  await client.sendTransaction({ to: fiat, data, gas: 100_000n, nonce: nonce + 1 });
  await pay(one, 25n * unit);
  await until("USDC is changed", async () => {
    return (await client.getTransactionCount({ address: owner })) === nonce + 2;
  });
}

/** Asserts that the token `its` cannot be returned yet. */
async function assertTooEarly({ record }: Order, its: Hex = record.intent.token): Promise<void> {
  const data = recoverData(record, [its]);
  const call = client.call({ account: stranger, to: factoryAddress, data });
  await assert.rejects(call, /reverted/);
}

const recoveredEvent = { abi: paymentFactoryAbi, eventName: "Recovered", strict: true } as const;

/** The chain and the token of a payment. */
type Place = { on?: typeof world | typeof other; token?: Hex };

async function recoveriesOf({ record }: Order, { on = world, token: its }: Place) {
  const { address: vault, intent } = record;
  const events = await on.client.getContractEvents({
    ...{ ...recoveredEvent, address: factoryAddress, fromBlock: 0n, args: { vault } },
  });
  const wanted = (its ?? intent.token).toLowerCase();
  return events.filter(({ args }) => args.token.toLowerCase() === wanted);
}

const balanceOf = (owner: Hex, its: Hex, { on = world }: Place): Promise<bigint> =>
  its === zeroAddress
    ? on.client.getBalance({ address: owner })
    : on.client.readContract({
        ...{ address: its, abi: demoToken.abi, functionName: "balanceOf", args: [owner] },
      });

const rowOf = ({ promised }: Order, mistake: string): MoneyReturn =>
  promised.returns.find((row) => row.mistake === mistake)!;

/** The expected sender for each value of the field `by`. */
const senders: Readonly<Record<string, Hex>> = {
  executor,
  executor_if_listed: executor,
  executor_on_request: executor,
  anyone: stranger.toLowerCase() as Hex,
};

/**
 * Waits until the money is returned, and compares the result with the response for `mistake`.
 *
 * @param paid the amount that the payer sent, in base units
 */
async function assertReturned(one: Order, mistake: string, paid: bigint, place: Place = {}) {
  const { record, promised, recipient } = one;
  const { on = world, token: its = record.intent.token } = place;
  const row = rowOf(one, mistake);
  await until(`${mistake} is returned`, async () => (await recoveriesOf(one, place)).length > 0);
  const [found, ...more] = await recoveriesOf(one, place);
  assert.equal(more.length, 0);
  const wanted = row.returned === "all" ? paid : paid - BigInt(promised.spent!);
  assert.equal(found!.args.amount, wanted);
  assert.equal(await balanceOf(row.to, its, place), wanted);
  assert.equal(await balanceOf(record.address, its, place), 0n);
  assert.equal(on.client.chain.id, on === world ? row.chainId : 31_338);
  assert.equal(row.chainId === null, on !== world);
  const executed = await isExecuted(one);
  const received = await balanceOf(recipient, record.intent.token, {});
  assert.equal(received, executed ? BigInt(promised.spent!) : 0n);
  await assertTrigger(one, row, found!, place);
  return found!;
}

type Found = Awaited<ReturnType<typeof recoveriesOf>>[number];

/** Checks that the recovery has a sender and a time that `row` allows. */
async function assertTrigger(one: Order, row: MoneyReturn, found: Found, place: Place) {
  const { on = world, token: its = one.record.intent.token } = place;
  const { from } = await on.client.getTransaction({ hash: found.transactionHash });
  assert.ok(row.by.map((each) => senders[each]).includes(from.toLowerCase() as Hex), from);
  const { timestamp } = await on.client.getBlock({ blockNumber: found.blockNumber });
  assert.ok(timestamp >= BigInt(row.notBefore ?? 0), `${timestamp} is before ${row.notBefore}`);
  if (row.when === "after_execution") {
    const { execution } = await get(`${one.record.address}/status`);
    const blocks = Number(found.blockNumber) - execution.blockNumber;
    assert.ok(blocks >= one.promised.executor!.confirmations, `after ${blocks} blocks`);
  }
  // Checks that a stranger could have triggered the return just before it happened.
  assert.ok(row.by.includes("anyone"));
  await on.client.call({
    ...{ account: stranger, to: factoryAddress, data: recoverData(one.record, [its]) },
    blockNumber: found.blockNumber - 1n,
  });
}

before(() =>
  until("an executor leads the chain", async () => {
    const { promised } = await order();
    return promised.executor !== null;
  }),
);

describe("money that a payer sent by mistake", () => {
  test("a payment after the expiration time is returned as soon as it arrives", async () => {
    const one = await order({ secondsLeft: 600 });
    await assertTooEarly(one);
    await pass(700);
    await world.mine();
    await pay(one, 25n * unit);
    await assertReturned(one, "late", 25n * unit);
  });

  test("the excess of a payment is returned after the execution", async () => {
    const one = await order();
    await assertTooEarly(one);
    await pay(one, 26n * unit);
    await assertReturned(one, "too_much", 26n * unit);
  });

  test("a payment that is too low is returned after the expiration time", async () => {
    const one = await order({ secondsLeft: 600 });
    await pay(one, 24n * unit);
    await until("it is seen", async () => (await stateOf(one)) === "partially_funded");
    await assertTooEarly(one);
    await pass(700);
    await assertReturned(one, "too_little", 24n * unit);
  });

  test("the second of two equal payments is returned after the execution", async () => {
    const one = await order();
    const payment = { to: one.record.address, amount: 25n * unit };
    await world.pay([payment, payment]);
    await assertReturned(one, "twice", 50n * unit);
  });

  test("a listed token that was not requested is returned after the execution", async () => {
    const one = await order();
    await pay(one, 7n * unit, otherToken);
    await until("it is seen", async () => {
      const { strays } = await get(`${one.record.address}/status`);
      return strays.length > 0;
    });
    await assertTooEarly(one, otherToken);
    await pay(one, 25n * unit);
    await assertReturned(one, "other_token", 7n * unit, { token: otherToken });
  });

  test("an unlisted token is returned if anyone calls `recover` for the token", async () => {
    const one = await order();
    await pay(one, 7n * unit, unlisted);
    await pay(one, 25n * unit);
    await until("it is executed", () => isExecuted(one));
    await send(stranger, factoryAddress, recoverData(one.record, [unlisted]));
    await assertReturned(one, "other_token", 7n * unit, { token: unlisted });
  });

  test("an unlisted token is returned after someone reports the token", onlyLong, async () => {
    const one = await order();
    await pay(one, 7n * unit, unlisted);
    await pay(one, 25n * unit);
    await until("it is executed", () => isExecuted(one));
    const url = `/v1/address/${one.record.address}/sent`;
    const payload = { token: unlisted };
    const response = await api.app.inject({ method: "POST", url, payload });
    assert.equal(response.json().tokens[0].fate, "queued");
    const found = await assertReturned(one, "other_token", 7n * unit, { token: unlisted });
    const { from } = await client.getTransaction({ hash: found.transactionHash });
    assert.equal(from.toLowerCase(), executor);
  });

  test("native coin is returned after the execution", async () => {
    const one = await order();
    await payCoin(one);
    await assertTooEarly(one, zeroAddress);
    await pay(one, 25n * unit);
    await assertReturned(one, "native_coin", coin, { token: zeroAddress });
  });

  test("native coin at an executed address is returned after a status request", async () => {
    const one = await order();
    await pay(one, 25n * unit);
    await until("it is executed", () => isExecuted(one));
    await payCoin(one);
    await until("the status shows the coin", async () => {
      const { recoverable, recoveries } = await get(`${one.record.address}/status`);
      return recoverable.length + recoveries.length > 0;
    });
    await assertReturned(one, "native_coin", coin, { token: zeroAddress });
  });

  test("a payment on another chain is returned there, and the address stays open", async () => {
    const one = await order();
    await other.pay(one.record.address, 25n * unit);
    await assertReturned(one, "other_chain", 25n * unit, { on: other, token: other.token });
    assert.equal(await stateOf(one), "unfunded");
  });

  test("excess from an exchange is sent to `recovery`, not to the exchange", onlyLong, async () => {
    const one = await order();
    const exchange = addressOf("the hot wallet of an exchange");
    await world.pay([{ to: exchange, amount: 100n * unit }]);
    await withdraw(exchange, one, 26n * unit);
    await assertReturned(one, "from_exchange", 26n * unit);
    const short = await order({ secondsLeft: 600 });
    await withdraw(exchange, short, 24n * unit);
    await pass(700);
    await assertReturned(short, "too_little", 24n * unit);
    assert.equal(await world.balanceOf(exchange), 50n * unit);
  });

  test("excess from a contract is sent to `recovery`, not to the contract", onlyLong, async () => {
    const one = await order();
    const contract = await paymentTo(one, 26n * unit);
    await world.pay([{ to: contract.address, amount: 26n * unit }]);
    await assertReturned(one, "from_contract", 26n * unit);
    assert.ok((await client.getCode({ address: contract.address }))!.length > 2);
    assert.equal(await world.balanceOf(contract.address), 0n);
    assert.equal(await world.balanceOf(contract.intent.recovery), 0n);
  });

  test("a payment to an executed address is returned as soon as it arrives", async () => {
    const one = await order();
    await pay(one, 25n * unit);
    await until("it is executed", () => isExecuted(one));
    await pay(one, 4n * unit);
    await assertReturned(one, "executed_address", 4n * unit);
  });
});

describe("a payment in a token that can pause and block transfers", () => {
  test("is returned after the expiration time if the token blocks the recipient", async () => {
    const one = await order({ secondsLeft: 3600, token: fiat });
    await changeFiat(fiatTokenData.block(one.recipient));
    await pay(one, 25n * unit);
    await until("the execution failed", () => hasFailed(one));
    await assertTooEarly(one);
    await pass(3700);
    await assertReturned(one, "blocked_recipient", 25n * unit);
  });

  test("is returned after the token has unblocked `recovery`", async () => {
    const one = await order({ token: fiat });
    await changeFiat(fiatTokenData.block(one.record.intent.recovery));
    await pay(one, 26n * unit);
    await until("the return failed", () => hasFailed(one));
    assert.equal(await isExecuted(one), true);
    assert.deepEqual(await recoveriesOf(one, {}), []);
    await changeFiat(fiatTokenData.unblock(one.record.intent.recovery));
    await pass(backoffSeconds);
    const found = await assertReturned(one, "blocked_recovery", unit, {});
    assert.equal(found.args.amount, unit);
  });

  test("can be rescued to another account only by the blocked `recovery`", onlyLong, async () => {
    const one = await order({ token: fiat });
    const { intent } = one.record;
    await changeFiat(fiatTokenData.block(intent.recovery));
    await pay(one, 26n * unit);
    await until("it is executed", () => isExecuted(one));
    const safe = addressOf("another address of the owner of recovery");
    const data = rescueData(one.record, transferData(safe, unit));
    await assert.rejects(client.call({ account: stranger, to: factoryAddress, data }), /reverted/);
    assert.ok(rowOf(one, "blocked_recovery").by.includes("recovery"));
    await send(intent.recovery, factoryAddress, data);
    assert.equal(await world.balanceOf(safe, fiat), unit);
    assert.equal(await world.balanceOf(one.record.address, fiat), 0n);
  });

  test("is returned after the token has been unpaused", async () => {
    const one = await order({ secondsLeft: 3600, token: fiat });
    await payThenChange(one, fiatTokenData.pause);
    await until("the execution failed", () => hasFailed(one));
    await pass(3700);
    await until("it is expired", async () => (await stateOf(one)) === "expired");
    assert.equal(await world.balanceOf(one.record.address, fiat), 25n * unit);
    await changeFiat(fiatTokenData.unpause);
    await pass(backoffSeconds);
    await assertReturned(one, "paused_token", 25n * unit);
  });

  test("reaches the recipient after the executable address is unblocked", onlyLong, async () => {
    const one = await order({ token: fiat });
    await payThenChange(one, fiatTokenData.block(one.record.address));
    await until("the execution failed", () => hasFailed(one));
    assert.equal(await world.balanceOf(one.record.address, fiat), 25n * unit);
    await changeFiat(fiatTokenData.unblock(one.record.address));
    await pass(backoffSeconds);
    await until("it is executed", () => isExecuted(one));
    assert.equal(await world.balanceOf(one.recipient, fiat), 25n * unit);
  });
});

const coin = 3n * 10n ** 17n;

async function payCoin({ record }: Order): Promise<void> {
  const hash = await client.sendTransaction({ to: record.address, value: coin, gas: 100_000n });
  await client.waitForTransactionReceipt({ hash });
}

/** Pays from an exchange's address, for which the payer does not have the key. */
const withdraw = (exchange: Hex, { record }: Order, amount: bigint) =>
  send(exchange, record.intent.token, transferData(record.address, amount));

/**
 * Creates an address whose call pays `amount` to the address of `one`. The payer is then a
 * contract.
 */
async function paymentTo(one: Order, amount: bigint): Promise<AddressRecord> {
  const { intent } = one.record;
  const [call] = intent.calls;
  const record = makeRecord({
    ...intent,
    amount: `${amount}`,
    calls: [{ ...call!, args: [one.record.address, `${amount}`] }],
    recovery: addressOf("recovery of the contract"),
  });
  await saveRecords(store, [record]);
  return record;
}
