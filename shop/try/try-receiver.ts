// `try-receiver URL`: checks how a webhook receiver handles events. The command simulates the
// service and a chain's node, and lets the receiver's shop create orders.

import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { drawSalt, formatAddress, fromHex, makeRecord } from "executable-address";
import { secretPrefix } from "executable-address/client/internal";
import { readStatus } from "executable-address/status";
import type { ServiceEvent } from "executable-address/webhook";
import { openTryChain } from "./chain.ts";
import { deliver, isTaken, type Taken } from "./deliver.ts";
import { type Made, openTryService, type TryAnswer, type TryRequest } from "./service.ts";
import { type Hands, trials } from "./trials.ts";

export type TryOptions = {
  readonly url: string;
  readonly port: number;
  /** A POST request with `form` to this URL creates an order in the shop. */
  readonly order: string | undefined;
  readonly form: string;
  /** The URL that returns the number of goods delivered for `{address}`. */
  readonly goods: string | undefined;
  /** The names of the checks to run. Default: all. */
  readonly only?: readonly string[];
  say(line: string): void;
};

type Score = { readonly passed: number; readonly tried: number; readonly slowestMs: number };

const token = formatAddress(fromHex(`0x${"70".repeat(20)}`));
const given = { chainId: 31_337, token, symbol: "DUSD" };
const patienceMs = 10_000;
/** How long a trial waits before it concludes that the receiver makes no further deliveries. */
const settleMs = 1500;

/** The settings for the tested receiver. The settings contain no real secrets. */
export const settingsAt = (port: number): Readonly<Record<string, string>> => ({
  BASE: `http://127.0.0.1:${port}/v1`,
  RPC_URL: `http://127.0.0.1:${port}/rpc`,
  API_KEY: `svc_sk_${"0".repeat(64)}`,
  REFERENCE_KEY: `svc_ref_${"0".repeat(64)}`,
  WEBHOOK_SECRET: `${secretPrefix}${btoa("known to everybody, for trials.")}`,
});

/** @throws {Error} if the receiver does not respond */
export async function tryReceiver(options: TryOptions): Promise<Score> {
  const { url, port, say } = options;
  const chain = openTryChain(given.chainId);
  const orders: Made[] = [];
  const service = openTryService(chain, given, (made) => orders.push(made));
  const close = await serve(port, service.answer);
  try {
    const settings = Object.entries(settingsAt(port)).map(([name, value]) => `${name}=${value}`);
    say(`Start your receiver with these settings:\n\n  ${settings.join(" \\\n  ")}\n`);
    await awaitReceiver(url);
    const taken: Taken[] = [];
    const results = await runTrials(
      openHands(options, { chain, orders, taken, know: service.know }),
      options,
    );
    const slowestMs = Math.round(Math.max(...taken.map(({ ms }) => ms)));
    return { passed: results.filter(Boolean).length, tried: results.length, slowestMs };
  } finally {
    close();
  }
}

async function runTrials(
  hands: Hands,
  { order, goods, only, say }: TryOptions,
): Promise<boolean[]> {
  const results: boolean[] = [];
  for (const { name, needsGoods, run } of trials) {
    if (needsGoods && !(order && goods)) continue;
    if (only && !only.includes(name)) continue;
    let why = "";
    const isPassed = await run(hands).catch((error: Error) => {
      why = ` (${error.message})`;
      return false;
    });
    say(`${isPassed ? "pass" : "FAIL"}  ${name}${why}`);
    results.push(isPassed);
  }
  return results;
}

type World = Pick<Hands, "chain"> & {
  readonly orders: Made[];
  readonly taken: Taken[];
  know(record: Made["record"]): void;
};

function openHands(options: TryOptions, { chain, orders, taken, know }: World): Hands {
  const { url, order, form, goods } = options;
  const secret = settingsAt(options.port).WEBHOOK_SECRET!;
  let events = 0;
  const send: Hands["send"] = async (event, spoiled) => {
    const answer = await deliver(url, secret, event, spoiled);
    taken.push(answer);
    return answer;
  };
  const readGoods = async ({ record }: Made) => {
    const answer = await fetch(goods!.replaceAll("{address}", record.address));
    if (!answer.ok) throw new Error(`${goods}: HTTP ${answer.status}`);
    return Number(await answer.text());
  };
  return {
    chain,
    send,
    strange(reference) {
      const made = strangeOrder(reference);
      know(made.record);
      return made;
    },
    async order() {
      const before = orders.length;
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      await fetch(order!, { method: "POST", headers, body: form, redirect: "manual" });
      await until(patienceMs, () => orders.length > before);
      const made = orders[before];
      if (!made) throw new Error(`${order} returned no address`);
      return made;
    },
    eventOf: async (made, type) => eventOf(made, type, chain, ++events),
    async deliver(event, spoiled) {
      await until(patienceMs, async () => isTaken(await send(event, spoiled)));
    },
    async goodsAre(made, count, withinMs = patienceMs) {
      if (count > 0) await until(withinMs, async () => (await readGoods(made)) >= count);
      await wait(settleMs);
      return (await readGoods(made)) === count;
    },
  };
}

async function eventOf(
  { record, reference, isStrange }: Made,
  type: ServiceEvent["type"],
  chain: Hands["chain"],
  sequence: number,
): Promise<ServiceEvent> {
  const { address } = record;
  const status = await readStatus(record, { rpc: chain.call });
  const paid = chain.paymentTo(record);
  const news = { kind: "requested" as const, isLate: false, isLast: false };
  const payment = type === "address.payment" && paid ? { ...paid, ...news } : null;
  const recordUrl = `${settingsAt(0).BASE}/address/${address}`;
  const settled = type === "address.recovered" ? status.recoveries.at(-1) : status.execution;
  const transactionHash = (payment ?? settled)?.transactionHash ?? null;
  // The client ID on the shop's page lets anyone create an address with any reference.
  const names = isStrange
    ? { reference: null, claimedReference: reference, createdBy: "client_id" as const }
    : { reference, claimedReference: null, createdBy: "api_key" as const };
  const said = { address, ...names, sequence, recordUrl };
  const payments = type === "address.executed" && paid ? [paid] : [];
  return {
    id: `evt_try${sequence}_${drawSalt().slice(2, 10)}`,
    type,
    version: 1,
    timestamp: new Date().toISOString(),
    data: {
      ...{ ...said, transactionHash, payment, payments, paymentsOmitted: 0 },
      ...{ chainId: status.chainId, returned: [], status, recoveriesOmitted: 0 },
    },
  };
}

/**
 * Returns an address whose calls pay an attacker. Anyone can create such an address, even with the
 * reference of a shop's order.
 */
function strangeOrder(reference: string | null): Made {
  const stranger = formatAddress(fromHex(`0x${"66".repeat(20)}`));
  const pay = "transfer(address to, uint256 amount)";
  const record = makeRecord({
    ...{ chainId: given.chainId, token, amount: "1", recovery: stranger, salt: drawSalt() },
    calls: [{ target: token, function: pay, args: [stranger, "1"] }],
    expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
  });
  return { record, reference, isStrange: true };
}

/**
 * Serves HTTP on 127.0.0.1.
 * @returns a function that closes the server
 */
async function serve(port: number, answer: (request: TryRequest) => Promise<TryAnswer>) {
  const server = createServer(async (request, response) => {
    const { method = "GET", url = "/" } = request;
    const { status, body } = await answer({ method, url, body: await text(request) });
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((done, failed) => {
    server.on("error", failed);
    server.listen(port, "127.0.0.1", done);
  });
  return () => {
    server.close();
    server.closeAllConnections();
  };
}

async function awaitReceiver(url: string): Promise<void> {
  const isThere = () =>
    fetch(url, { method: "POST", body: "{}" }).then(
      () => true,
      () => false,
    );
  if (!(await until(60_000, isThere))) throw new Error(`no response from ${url}`);
}

/**
 * Waits until the condition is true. Returns false if the condition does not become true within
 * `limitMs`.
 */
async function until(limitMs: number, isTrue: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const endMs = Date.now() + limitMs; Date.now() < endMs; await wait(100))
    if (await isTrue()) return true;
  return false;
}
