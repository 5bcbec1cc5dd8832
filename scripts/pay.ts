// npm run pay -- ADDRESS [AMOUNT]: pays an address on the local chain with new demo tokens.
//
// Options:
//
//     --execute            Also executes the address.
//     --event              Pays a sample order, and shows the webhook event. Needs no ADDRESS.
//     --advance SECONDS    Only advances the local chain's clock. Needs no ADDRESS.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { encodeExecution, type Intent, toHex, verifyRecord } from "executable-address";
import { createClient } from "executable-address/client";
import { verifyWebhook } from "executable-address/webhook";
import { demoToken, factoryAddress } from "executable-address-contracts";
import { anvilChain } from "executable-address-contracts/anvil";
import { createTestClient, type Hex, http } from "viem";
import { type Demo, readDemo } from "./demo.ts";
import { demoTokens, localChainId, localWallet, payerAccount } from "./local-chain.ts";

const usage = `usage: npm run pay -- ADDRESS [AMOUNT in base units] [--execute]
       npm run pay -- --event
       npm run pay -- --advance SECONDS`;

const words = process.argv.slice(2);
try {
  if (words[0] === "--advance") await advance(words.slice(1));
  else if (words.join() === "--event") await showEvent();
  else await pay(payment(words));
} catch (error) {
  // viem's `message` contains the whole request, so only the short message is shown.
  const { message, shortMessage = message } = error as Error & { shortMessage?: string };
  console.error(shortMessage.replaceAll("\n", " "));
  process.exit(1);
}

type Given = { address: string; amount: bigint | undefined; thenExecute: boolean };

async function pay({ address, amount, thenExecute }: Given): Promise<void> {
  const demo = requireDemo();
  const { intent, record } = await lookUp(demo.baseUrl, address);
  if (intent.chainId !== localChainId) {
    throw new Error(
      `${address} is on chain ${intent.chainId}; this command pays only on the local chain.`,
    );
  }
  const wallet = localWallet(demo.rpcUrl, payerAccount);
  await wallet.getChainId().catch(() => noChain(demo.rpcUrl));
  const settle = async (sent: Promise<Hex>): Promise<Hex> => {
    const hash = await sent;
    const { status } = await wallet.waitForTransactionReceipt({ hash });
    if (status !== "success") throw new Error(`The transaction ${hash} failed.`);
    return hash;
  };

  const token = { address: intent.token, abi: demoToken.abi } as const;
  const value = amount ?? BigInt(intent.amount);
  const mint = { ...token, functionName: "mint", args: [payerAccount.address, value] } as const;
  const transfer = { ...token, functionName: "transfer", args: [record.address, value] } as const;
  await settle(wallet.writeContract(mint));
  const paid = await settle(wallet.writeContract(transfer));
  console.log(`paid ${value} to ${record.address} in ${paid}`);
  if (!thenExecute) return;
  const data = toHex(encodeExecution(intent));
  const executed = await settle(wallet.sendTransaction({ to: factoryAddress, data }));
  console.log(`executed in ${executed}`);
}

type Delivery = { headers: IncomingHttpHeaders; body: string };

/**
 * Pays a sample order, and shows the signed webhook event that a shop's server would receive. A
 * temporary webhook endpoint receives the event.
 */
async function showEvent(): Promise<void> {
  const { baseUrl, apiKey } = requireDemo();
  const client = createClient({ baseUrl, apiKey });
  const receiver = createServer().listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;
  const { id, secret } = await client.webhooks.create({ url, types: ["address.executed"] });
  try {
    const { address } = await client.create(sampleIntent());
    const delivery = executionOf(address, receiver);
    await pay(payment([address]));
    const { headers, body } = await delivery;
    const event = await verifyWebhook(body, headers, { secret });
    console.log(`POST ${url}`);
    for (const [name, value] of Object.entries(headers))
      if (/^(webhook-|content-type)/.test(name)) console.log(`${name}: ${value}`);
    console.log(`\n${JSON.stringify(event, null, 2)}\n\nsigned by ${secret}`);
  } finally {
    await client.webhooks.remove(id);
    receiver.close();
    receiver.closeAllConnections();
  }
}

/** Returns an intent that sends one token back to the payer. */
function sampleIntent() {
  const [{ address: token, decimals }] = demoTokens as [(typeof demoTokens)[number]];
  const amount = String(10 ** decimals);
  const recovery = payerAccount.address;
  const call = {
    target: token,
    function: "transfer(address to, uint256 amount)",
    args: [recovery, amount],
  };
  const expirationTimestamp = Math.floor(Date.now() / 1000) + 86_400;
  return { token, amount, calls: [call], expirationTimestamp, recovery, chainId: localChainId };
}

/** Waits for the webhook event of `address`, and ignores events of other addresses. */
function executionOf(address: Hex, receiver: ReturnType<typeof createServer>): Promise<Delivery> {
  return new Promise((deliver, reject) => {
    receiver.on("request", async (request, response) => {
      try {
        const { headers } = request;
        let body = "";
        for await (const chunk of request) body += chunk;
        response.writeHead(204).end();
        if (body.toLowerCase().includes(address.toLowerCase())) deliver({ headers, body });
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** Advances the local chain's clock. Rejects nodes of other chains. */
async function advance([given = "", ...more]: string[]): Promise<void> {
  if (more.length > 0) throw new Error(usage);
  const seconds = /^[1-9]\d{0,8}$/.test(given) ? Number(given) : Number.NaN;
  if (Number.isNaN(seconds))
    throw new Error(`The time is ${given || "missing"}; expected whole seconds, such as 3600.`);
  const { rpcUrl } = requireDemo();
  const wallet = localWallet(rpcUrl, payerAccount);
  const chainId = await wallet.getChainId().catch(() => noChain(rpcUrl));
  const { hostname } = new URL(rpcUrl);
  if (chainId !== localChainId || hostname !== "127.0.0.1")
    throw new Error(
      `${rpcUrl} is chain ${chainId}; this command advances only the local chain's clock.`,
    );
  const node = createTestClient({ mode: "anvil", chain: anvilChain, transport: http(rpcUrl) });
  await node.increaseTime({ seconds });
  await node.mine({ blocks: 1 });
  const { timestamp } = await wallet.getBlock();
  console.log(`the local chain's clock is at ${new Date(Number(timestamp) * 1000).toISOString()}`);
}

function noChain(rpcUrl: string): never {
  throw new Error(`No chain responds at ${rpcUrl}. Is npm start still running?`);
}

/** @throws {Error} if the arguments are invalid. The message explains the correct arguments */
function payment(words: string[]): Given {
  // An amount that starts with "-" gets the message for invalid amounts, not the usage message.
  const thenExecute = words.includes("--execute");
  const [address, amount, ...more] = words.filter((word) => word !== "--execute");
  if (address === undefined || address.startsWith("-") || more.length > 0) throw new Error(usage);
  if (amount === undefined) return { address, amount, thenExecute };
  if (!/^[1-9]\d*$/.test(amount) || BigInt(amount) >= 2n ** 256n) {
    throw new Error(
      `The amount is ${amount}; expected a whole number of base units, from 1 to below 2^256, ` +
        "such as 25000000.",
    );
  }
  return { address, amount: BigInt(amount), thenExecute };
}

function requireDemo(): Demo {
  const dataDir = resolve(process.env.DATA_DIR || `${import.meta.dirname}/../.data`);
  const demo = readDemo(dataDir);
  if (demo) return demo;
  throw new Error(`${dataDir} does not contain a local chain: run npm start first.`);
}

async function lookUp(baseUrl: string, address: string) {
  const response = await fetch(`${baseUrl}/address/${encodeURIComponent(address)}`).catch(() => {
    throw new Error(`No service responds at ${baseUrl}. Is npm start still running?`);
  });
  const answer = (await response.json()) as { error?: { message: string } };
  if (!response.ok) {
    throw new Error(`${baseUrl} returned ${response.status}: ${answer.error?.message}`);
  }
  const record = verifyRecord(answer, { factory: factoryAddress, address: address as Hex });
  return { record, intent: record.intent as Intent };
}
